// Products whose pattern arrives with the data: the values stay in the order in which they came, and only indices are
// sorted (a counting sort by block row), which costs a fraction of a percent of the product for 16 x 16 blocks.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/fail.hpp"
#include "matmul/plan.hpp"

namespace espalier {

struct DynamicMatmulPlan::Impl {
  DynamicMatmulOptions options;
  Product product;
  std::string kernel;
  std::int64_t capacity = 0, block_rows = 0, block_columns = 0;
  std::vector<std::uint32_t> starts, columns, order, cursor, last_row_of_column;
};

namespace {

using Impl = DynamicMatmulPlan::Impl;

// Duplicates show up once the blocks lie by rows: a block column is stamped with the last row that used it.
Status sort_blocks(Impl& impl, const DynamicPattern& pattern) {
  const auto [r, c] = impl.options.block;
  const std::size_t count = pattern.rows.size();
  std::fill(impl.starts.begin(), impl.starts.end(), 0U);
  for (std::size_t i = 0; i < count; ++i) {
    if (pattern.rows[i] < 0 || pattern.rows[i] >= impl.block_rows || pattern.cols[i] < 0 ||
        pattern.cols[i] >= impl.block_columns)
      return fail(ErrorCode::kInvalidData,
                  "dynamic matmul: block {} is at ({}, {}), expected rows below {} and columns below {}", i,
                  pattern.rows[i], pattern.cols[i], impl.block_rows, impl.block_columns);
    ++impl.starts[static_cast<std::size_t>(pattern.rows[i]) + 1];
  }
  for (std::size_t row = 1; row < impl.starts.size(); ++row) impl.starts[row] += impl.starts[row - 1];
  std::copy(impl.starts.begin(), impl.starts.end(), impl.cursor.begin());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t at = impl.cursor[static_cast<std::size_t>(pattern.rows[i])]++;
    impl.columns[at] = static_cast<std::uint32_t>(pattern.cols[i] * c);
    impl.order[at] = static_cast<std::uint32_t>(i);
  }
  std::fill(impl.last_row_of_column.begin(), impl.last_row_of_column.end(), 0U);
  for (std::size_t row = 0; row + 1 < impl.starts.size(); ++row)
    for (std::uint32_t at = impl.starts[row]; at < impl.starts[row + 1]; ++at) {
      std::uint32_t& stamp = impl.last_row_of_column[impl.columns[at] / static_cast<std::uint32_t>(c)];
      if (stamp == row + 1)
        return fail(ErrorCode::kInvalidData, "dynamic matmul: two blocks are at ({}, {}), expected one", row,
                    impl.columns[at] / static_cast<std::uint32_t>(c));
      stamp = static_cast<std::uint32_t>(row + 1);
    }
  for (std::size_t row = 0; row < impl.starts.size(); ++row) impl.product.units_before[row] = impl.starts[row];
  impl.product.kept_values = static_cast<std::int64_t>(count) * r * c;
  return {};
}

Status check_pattern(const Impl& impl, const DynamicPattern& pattern, std::span<const float> values) {
  const auto count = static_cast<std::int64_t>(pattern.rows.size());
  const auto [r, c] = impl.options.block;
  if (pattern.cols.size() != pattern.rows.size())
    return fail(ErrorCode::kInvalidArgument, "dynamic matmul: the pattern has {} rows but {} columns, expected as many",
                count, pattern.cols.size());
  if (static_cast<std::int64_t>(values.size()) != count * r * c)
    return fail(ErrorCode::kInvalidArgument, "dynamic matmul: {} values for {} blocks of {} x {}, expected {}",
                values.size(), count, r, c, count * r * c);
  if (count > impl.capacity)
    return fail(
        ErrorCode::kLimit,
        "dynamic matmul: the pattern keeps {} blocks, the plan has room for {}: plan with max_density >= {:.6f}", count,
        impl.capacity,
        std::ceil(static_cast<double>(count) / static_cast<double>(impl.block_rows * impl.block_columns) * 1e6) / 1e6);
  return {};
}

}  // namespace

Result<DynamicMatmulPlan> plan_dynamic_matmul(const DynamicMatmulOptions& options) {
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
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (options.m >= kMost || options.k >= kMost || (options.m / r) * (options.k / c) >= kMost)
    return fail(ErrorCode::kLimit, "dynamic matmul: {} x {} in blocks of {} x {} is too large: use larger blocks",
                options.m, options.k, r, c);
  const MachineFacts machine = machine_facts(options.isa, options.threads, false);
  auto impl = std::make_shared<Impl>();
  impl->options = options;
  impl->block_rows = options.m / r;
  impl->block_columns = options.k / c;
  impl->capacity = static_cast<std::int64_t>(
      std::ceil(options.max_density * static_cast<double>(impl->block_rows * impl->block_columns)));
  PatternFacts facts;
  facts.m = options.m;
  facts.k = options.k;
  facts.block = options.block;
  facts.kept_units = impl->capacity;
  facts.kept_values = impl->capacity * r * c;
  kernels::KernelRequest request;
  request.isa = machine.isa;
  request.features = machine.features;
  request.block_rows = r;
  request.block_cols = c;
  request.n = std::max<std::int64_t>(options.n, 1);
  request.canonical_values = true;
  const kernels::Selection selection = kernels::select_kernel(
      kernels::spmm_kernels(), request,
      [&](const kernels::KernelInfo& kernel) { return predicted_ms(kernel, facts, request.n, machine); });
  if (selection.chosen == nullptr)
    return fail(ErrorCode::kUnsupported, "dynamic matmul: no kernel for blocks of {} x {} on {}", r, c,
                to_string(machine.isa));
  Product& product = impl->product;
  product.kernel = selection.chosen;
  product.narrower = narrower_kernels(*selection.chosen);
  product.m = options.m;
  product.k = options.k;
  product.strips = options.m / selection.chosen->tile_rows;
  product.strips_per_block_row = r / selection.chosen->tile_rows;
  // One part: the values are not sorted by columns.
  const std::int64_t tile = selection.chosen->tile_cols;
  const std::int64_t budget =
      std::max<std::int64_t>(machine.caches.l2, 1 << 20) / 2 / static_cast<std::int64_t>(sizeof(float));
  product.group_cols =
      std::max<std::int64_t>(std::min(request.n, budget / std::max<std::int64_t>(options.k, 1)) / tile, 1) * tile;
  const auto rows = static_cast<std::size_t>(impl->block_rows), room = static_cast<std::size_t>(impl->capacity);
  impl->starts.assign(rows + 1, 0);
  impl->cursor.assign(rows + 1, 0);
  product.units_before.assign(rows + 1, 0);
  impl->columns.assign(room, 0);
  impl->order.assign(room, 0);
  impl->last_row_of_column.assign(static_cast<std::size_t>(impl->block_columns), 0);
  kernels::SpmmArgs args;
  args.starts = impl->starts.data();
  args.columns = impl->columns.data();
  args.order = impl->order.data();
  args.block_rows = static_cast<std::int32_t>(r);
  args.block_cols = static_cast<std::int32_t>(c);
  product.parts.push_back({args, 0, options.k, options.k});
  impl->kernel = selection.chosen->name;
  return DynamicMatmulPlan(std::move(impl));
}

Status DynamicMatmulPlan::run(const DynamicPattern& pattern, std::span<const float> values, const ConstMatrix& x,
                              const MutableMatrix& y) {
  return run(pattern, values, x, y, default_executor());
}

Status DynamicMatmulPlan::run(const DynamicPattern& pattern, std::span<const float> values, const ConstMatrix& x,
                              const MutableMatrix& y, Executor& executor) {
  ESPALIER_TRY(check_call(x, nullptr, y, {impl_->options.m, impl_->options.k}));
  ESPALIER_TRY(check_pattern(*impl_, pattern, values));
  ESPALIER_TRY(sort_blocks(*impl_, pattern));
  impl_->product.parts[0].weights.values = values.data();
  constexpr std::int64_t kBytes = sizeof(float);
  ProductCall call;
  call.x = x.data;
  call.x_stride = (x.stride == 0 ? x.cols : x.stride) * kBytes;
  call.y = y.data;
  call.y_stride = (y.stride == 0 ? y.cols : y.stride) * kBytes;
  call.n = x.cols;
  run_product(impl_->product, call, executor);
  return {};
}

std::int64_t DynamicMatmulPlan::capacity_blocks() const { return impl_->capacity; }
const std::string& DynamicMatmulPlan::kernel() const { return impl_->kernel; }

}  // namespace espalier
