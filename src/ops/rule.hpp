// What shape rules are made of: errors that name the node, attribute access without allocation, axes, broadcasting.
//
// Unknown sizes are -1 in Dims. A rule that meets an unranked input sets the type alone.
#pragma once

#include <cstdint>
#include <espalier/graph.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "base/fail.hpp"
#include "ops/dims.hpp"
#include "ops/op.hpp"

namespace espalier::ops {

// "node 'x' (Conv, opset 13): <message>".
template <typename... Args>
tl::unexpected<Error> fail_at(const Node& node, fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::kInvalidData, describe(node) + ": " + fmt::format(format, std::forward<Args>(args)...));
}

// Attributes without copying; the fallback where the attribute is absent or of another type.
std::span<const std::int64_t> ints(const Node& node, std::string_view key);
std::span<const float> floats(const Node& node, std::string_view key);
std::string_view text(const Node& node, std::string_view key, std::string_view fallback);
const Tensor* tensor(const Node& node, std::string_view key);

// A set of axes, bit i for axis i.
using AxisSet = std::uint32_t;
constexpr bool in(AxisSet set, int axis) { return ((set >> axis) & 1U) != 0; }

// An axis of -rank .. rank - 1 as 0 .. rank - 1. Error: "axis 5 is outside -4 .. 3".
Result<int> resolve_axis(const Node& node, std::int64_t axis, int rank);
// The same for several. Error also for an axis given twice.
Result<AxisSet> resolve_axes(const Node& node, std::span<const std::int64_t> axes, int rank);

// The contents of an i64 or i32 tensor, at most `limit` of them. Error: what else it is.
Result<std::vector<std::int64_t>> read_ints(const Node& node, const Tensor& tensor, std::size_t limit = 4096);
// The contents of input i where they are known; nullopt where they are not (or the input is absent).
Result<std::optional<std::vector<std::int64_t>>> known_ints(const InferContext& context, std::size_t i);

// Sizes with -1 for unknown. The shape must be ranked.
Dims sizes_of(const SymbolicShape& shape);
SymbolicShape shape_of(const Dims& sizes);
SymbolicShape unknown_shape(int rank);
inline bool known(const Dims& sizes) {
  for (const std::int64_t size : sizes)
    if (size < 0) return false;
  return true;
}

// The common shape of two by the rules of numpy. Error: both shapes.
Result<SymbolicShape> broadcast(const Node& node, const SymbolicShape& a, const SymbolicShape& b);
// Over all present inputs.
Result<SymbolicShape> broadcast_inputs(const InferContext& context, std::size_t first = 0);
// Strides of `from` read as a tensor of shape `to` (0 along broadcast dimensions).
Dims broadcast_strides(const Dims& from, const Dims& to);

// Error: "input 1 (weight) has rank 3, expected 4". Unranked inputs pass.
Status expect_rank(const InferContext& context, std::size_t input, std::string_view what, int low, int high = -1);

// The rule of element-wise operators with one input: the output is like input 0.
Status infer_like_input(InferContext& context);

}  // namespace espalier::ops
