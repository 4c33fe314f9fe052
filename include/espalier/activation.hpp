// The element-wise functions that a product may apply to its result before it stores it.
#pragma once

#include <cstdint>
#include <espalier/export.hpp>
#include <string_view>

namespace espalier {

enum class Activation : std::uint8_t {
  kNone,
  kRelu,
  kClip,       // min(max(x, low), high)
  kHardSwish,  // x * clip(x + 3, 0, 6) / 6
  kSigmoid,
  kTanh,
  kGelu,       // x / 2 * (1 + erf(x / sqrt 2))
  kGeluTanh,   // its approximation by tanh
  kLeakyRelu,  // x < 0 ? low * x : x
  kSilu        // x * sigmoid(x)
};
ESPALIER_API std::string_view to_string(Activation activation) noexcept;

// One value; `low` and `high` as above. NaN stays NaN. The reference that vector code is tested against.
ESPALIER_API float activate(Activation activation, float x, float low = 0, float high = 0) noexcept;

}  // namespace espalier
