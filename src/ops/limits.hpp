// The cap on one tensor.
#pragma once

#include <cstdint>
#include <espalier/graph.hpp>
#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <span>

namespace espalier::ops {

// 64 GiB, as for files; the memory of the machine where that is less.
inline constexpr std::int64_t kMaxTensorBytes = std::int64_t{64} << 30;

// Error: kLimit when a tensor of this type and shape passes the cap; kInvalidData on a negative size.
Status check_size(const Node& node, std::size_t output, DType dtype, std::span<const std::int64_t> shape);

}  // namespace espalier::ops
