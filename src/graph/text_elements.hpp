// What the printer and the parser of the text form share: which names stand bare, how many elements are printed, and
// the random values that stand for those that are not.
#pragma once

#include <cstdint>
#include <espalier/tensor.hpp>
#include <string_view>

namespace espalier::text {

// Constants with more elements are printed as "...".
inline constexpr std::int64_t kMaxPrintedElements = 64;
// Declared constants above this are refused: the text form is for people and tests.
inline constexpr std::int64_t kMaxParsedElements = std::int64_t{1} << 28;

constexpr bool is_bare_first(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_bare(char c) {
  return is_bare_first(c) || (c >= '0' && c <= '9') || c == '.' || c == '/' || c == '-';
}

// Values drawn from `name` alone: floats uniform in [-1, 1), signed integers in [-8, 8), unsigned ones in [0, 16).
Tensor random_tensor(DType dtype, Shape shape, std::string_view name);

}  // namespace espalier::text
