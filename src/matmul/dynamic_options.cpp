#include "matmul/dynamic_options.hpp"

#include <cmath>

#include "base/fail.hpp"

namespace espalier {
namespace {

double all_blocks(const DynamicMatmulOptions& options) {
  const std::int64_t rows = options.m / options.block.rows, columns = options.k / options.block.cols;
  return static_cast<double>(rows * columns);
}

bool f32_or_bf16(DType type) { return type == DType::kF32 || type == DType::kBf16; }

}  // namespace

Status check_dynamic_options(const DynamicMatmulOptions& options) {
  const auto [r, c] = options.block;
  if (options.m < 0 || options.k < 0 || options.n < 0)
    return fail(ErrorCode::kInvalidArgument, "dynamic matmul: m, k, n are {}, {}, {}, expected 0 or more", options.m,
                options.k, options.n);
  if (r < 1 || c < 1)
    return fail(ErrorCode::kInvalidArgument, "dynamic matmul: the block is {} x {}, expected at least 1 x 1", r, c);
  if (options.m % r != 0 || options.k % c != 0)
    return fail(ErrorCode::kInvalidArgument, "dynamic matmul: {} x {} is not a multiple of blocks of {} x {}",
                options.m, options.k, r, c);
  if (!(options.max_density > 0 && options.max_density <= 1))
    return fail(ErrorCode::kInvalidArgument, "dynamic matmul: max_density is {}, expected above 0 and at most 1",
                options.max_density);
  if (!f32_or_bf16(options.type) || !f32_or_bf16(options.y))
    return fail(ErrorCode::kUnsupported, "dynamic matmul: values and X are {}, Y is {}, expected f32 or bf16",
                to_string(options.type), to_string(options.y));
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (options.m >= kMost || options.k >= kMost || (options.m / r) * (options.k / c) >= kMost)
    return fail(ErrorCode::kLimit, "dynamic matmul: {} x {} in blocks of {} x {} is too large: use larger blocks",
                options.m, options.k, r, c);
  return {};
}

std::int64_t capacity_of(const DynamicMatmulOptions& options) {
  return static_cast<std::int64_t>(std::ceil(options.max_density * all_blocks(options)));
}

Status check_capacity(std::string_view what, std::int64_t count, const DynamicMatmulOptions& options) {
  const std::int64_t capacity = capacity_of(options);
  if (count <= capacity) return {};
  return fail(ErrorCode::kLimit,
              "dynamic matmul: {} {} blocks, the plan has room for {}: plan with max_density >= {:.6f}", what, count,
              capacity, std::ceil(static_cast<double>(count) / all_blocks(options) * 1e6) / 1e6);
}

}  // namespace espalier
