// What the writer and the reader of Plan files agree on (docs/formats.md).
//
// A Plan file is a safetensors file. Its metadata holds `espalier_plan`, the description as one JSON string, and
// `espalier_plan_xxh3`, the hash of that string in hexadecimal. Every tensor is stored flat, padded with zeros to a
// multiple of 64 bytes; `tensors` in the description gives its type and shape, and for index tensors a hash. Constants
// are compact (compact_constant.hpp), and those that packed weights replace are named only.
#pragma once

#include <cstdint>
#include <espalier/tensor.hpp>
#include <string>
#include <string_view>

namespace espalier::plan {

inline constexpr int kPlanFormat = 2;
inline constexpr std::string_view kDescriptionKey = "espalier_plan", kDescriptionHashKey = "espalier_plan_xxh3";

// 16 hexadecimal digits.
std::string hash_bytes(const void* data, std::size_t bytes);

// The key of the mask of a constant's kept runs.
std::string kept_key(const std::string& key);

// The keys of packed weights of a node for groups of `rows` output channels.
struct PackedKeys {
  std::string starts, columns, values, bias;
};
PackedKeys packed_keys(int node, int rows);

}  // namespace espalier::plan
