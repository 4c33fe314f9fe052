// Products whose pattern arrives with the data: a plan holds a kernel and room for the sorted indices.
#include <algorithm>
#include <cmath>
#include <espalier/dynamic.hpp>

#include "base/fail.hpp"
#include "matmul/block_sort.hpp"
#include "matmul/dynamic_options.hpp"
#include "matmul/plan.hpp"
#include "matmul/scratch.hpp"

namespace espalier {
namespace {

using kernels::PackedLayout;

// Y = W X or Y = W^T X.
struct Side {
  PackedLayout layout = PackedLayout::kArrival;
  std::int64_t m = 0, k = 0;
  Block block;
  bool widens = false;  // bf16 becomes f32 first
  Product product;
  BlockSort sort;
  std::string kernel;
};

// bf16 as f32, for the kernels of f32.
void widen_row(const bf16* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

struct Data {
  const void* values = nullptr;
  const void* x = nullptr;
  std::int64_t x_stride = 0;  // bytes
};

}  // namespace

struct DynamicMatmulPlan::Impl {
  DynamicMatmulOptions options;
  std::int64_t capacity = 0;
  std::vector<Side> sides;     // of W, then of W^T where planned for
  std::vector<float> widened;  // values, where a side takes them so

  Status check(const DynamicPattern& pattern, const BlockValues& values) const;
  Data widen(const Side& side, const BlockValues& values, const ConstMatrix& x);
  Status run(Side& side, const DynamicPattern& pattern, const BlockValues& values, const ConstMatrix& x,
             const MutableMatrix& y, Executor& executor);
};

Status DynamicMatmulPlan::Impl::check(const DynamicPattern& pattern, const BlockValues& values) const {
  const auto count = static_cast<std::int64_t>(pattern.rows.size());
  const auto [r, c] = options.block;
  if (pattern.cols.size() != pattern.rows.size())
    return fail(ErrorCode::kInvalidArgument, "dynamic matmul: the pattern has {} rows but {} columns, expected as many",
                count, pattern.cols.size());
  if (values.dtype != options.type)
    return fail(ErrorCode::kInvalidArgument, "dynamic matmul: the values are {}, planned for {}",
                to_string(values.dtype), to_string(options.type));
  if (values.count != count * r * c)
    return fail(ErrorCode::kInvalidArgument, "dynamic matmul: {} values for {} blocks of {} x {}, expected {}",
                values.count, count, r, c, count * r * c);
  if (values.data == nullptr && count > 0)
    return fail(ErrorCode::kInvalidArgument, "dynamic matmul: the values are NULL");
  return check_capacity("the pattern keeps", count, options);
}

Data DynamicMatmulPlan::Impl::widen(const Side& side, const BlockValues& values, const ConstMatrix& x) {
  const std::int64_t stride = x.stride == 0 ? x.cols : x.stride;
  if (!side.widens) return {values.data, x.data, stride * static_cast<std::int64_t>(size_of(x.dtype))};
  widen_row(static_cast<const bf16*>(values.data), widened.data(), values.count);
  const std::int64_t pitch = (x.cols + 15) / 16 * 16, bytes = pitch * static_cast<std::int64_t>(sizeof(float));
  auto* const wide_x =
      reinterpret_cast<float*>(thread_scratch(ScratchUse::kWideX, static_cast<std::size_t>(x.rows * bytes)));
  for (std::int64_t row = 0; row < x.rows; ++row)
    widen_row(static_cast<const bf16*>(x.data) + row * stride, wide_x + row * pitch, x.cols);
  return {widened.data(), wide_x, bytes};
}

Status DynamicMatmulPlan::Impl::run(Side& side, const DynamicPattern& pattern, const BlockValues& values,
                                    const ConstMatrix& x, const MutableMatrix& y, Executor& executor) {
  ESPALIER_TRY(check_call(x, nullptr, y, {.m = side.m, .k = side.k, .x = options.type, .y = options.y}));
  ESPALIER_TRY(check(pattern, values));
  ESPALIER_TRY(side.sort.sort(pattern));
  Product& product = side.product;
  std::copy(side.sort.row_starts().begin(), side.sort.row_starts().end(), product.units_before.begin());
  product.kept_values = values.count;
  const Data data = widen(side, values, x);
  product.parts[0].weights.values = data.values;
  ProductCall call;
  call.x = data.x;
  call.x_stride = data.x_stride;
  call.y = y.data;
  call.y_stride = (y.stride == 0 ? y.cols : y.stride) * static_cast<std::int64_t>(size_of(y.dtype));
  call.n = x.cols;
  call.x_type = side.widens ? DType::kF32 : options.type;
  call.epilogue.storage = options.y == DType::kBf16 ? kernels::Storage::kBf16 : kernels::Storage::kF32;
  run_product(product, call, executor);
  return {};
}

namespace {

// Columns of X whose packed panels fill half of L2: there is one part, since values are not sorted by columns.
std::int64_t group_columns(const kernels::KernelInfo& kernel, std::int64_t k, std::int64_t n,
                           const CacheSizes& caches) {
  const std::int64_t budget = std::max<std::int64_t>(caches.l2, 1 << 20) / 2;
  const std::int64_t packed_rows = std::max<std::int64_t>(k / kernel.k_per_row, 1);
  const std::int64_t panels =
      std::min((n + kernel.tile_cols - 1) / kernel.tile_cols, budget / (packed_rows * packed_row_bytes(kernel)));
  return std::max<std::int64_t>(panels, 1) * kernel.tile_cols;
}

Result<Side> plan_side(const DynamicMatmulOptions& options, PackedLayout layout) {
  const auto [r, c] = options.block;
  const bool transposed = layout == PackedLayout::kArrivalTransposed;
  const std::int64_t m = transposed ? options.k : options.m, k = transposed ? options.m : options.k;
  const Block block = transposed ? Block{c, r} : options.block;
  const bool widens = options.type == DType::kBf16 && (transposed || c % 2 != 0);
  const MachineFacts machine = machine_facts(options.isa, options.threads, false);
  const std::int64_t capacity = capacity_of(options), n = std::max<std::int64_t>(options.n, 1);
  PatternFacts facts;
  facts.m = m;
  facts.k = k;
  facts.type = widens ? DType::kF32 : options.type;
  facts.block = block;
  facts.kept_units = capacity;
  facts.kept_values = capacity * r * c;
  const kernels::KernelRequest request{.isa = machine.isa,
                                       .features = machine.features,
                                       .weights = facts.type,
                                       .x = facts.type,
                                       .block_rows = block.rows,
                                       .block_cols = block.cols,
                                       .n = n,
                                       .arrival = layout};
  const kernels::Selection selection = kernels::select_kernel(
      kernels::spmm_kernels(), request,
      [&](const kernels::KernelInfo& kernel) { return predicted_ms(kernel, facts, n, machine); });
  if (selection.chosen == nullptr)
    return fail(ErrorCode::kUnsupported, "dynamic matmul: no kernel for blocks of {} x {} of {} on {}", block.rows,
                block.cols, to_string(facts.type), to_string(machine.isa));
  const kernels::KernelInfo& kernel = *selection.chosen;
  const auto by = transposed ? BlockSort::By::kColumns : BlockSort::By::kRows;
  Side side{layout,
            m,
            k,
            block,
            widens,
            {},
            BlockSort(by, options.m / r, options.k / c, block.cols / kernel.k_per_row, capacity),
            std::string(kernel.name)};
  Product& product = side.product;
  product.kernel = &kernel;
  product.narrower = narrower_kernels(kernel);
  product.m = m;
  product.k = k;
  product.strips = m / kernel.tile_rows;
  product.strips_per_block_row = block.rows / kernel.tile_rows;
  product.group_cols = group_columns(kernel, k, n, machine.caches);
  product.units_before.assign(static_cast<std::size_t>(m / block.rows) + 1, 0);
  kernels::SpmmArgs args;
  args.starts = side.sort.starts();
  args.columns = side.sort.columns();
  args.order = side.sort.order();
  args.block_rows = static_cast<std::int32_t>(block.rows);
  args.block_cols = static_cast<std::int32_t>(block.cols / kernel.k_per_row);
  product.parts.push_back({args, 0, k, k / kernel.k_per_row});
  return side;
}

}  // namespace

Result<DynamicMatmulPlan> plan_dynamic_matmul(const DynamicMatmulOptions& options) {
  ESPALIER_TRY(check_dynamic_options(options));
  auto impl = std::make_shared<DynamicMatmulPlan::Impl>();
  impl->options = options;
  impl->capacity = capacity_of(options);
  ESPALIER_ASSIGN(Side forward, plan_side(options, PackedLayout::kArrival));
  impl->sides.push_back(std::move(forward));
  if (options.transposed) {
    ESPALIER_ASSIGN(Side backward, plan_side(options, PackedLayout::kArrivalTransposed));
    impl->sides.push_back(std::move(backward));
  }
  if (std::any_of(impl->sides.begin(), impl->sides.end(), [](const Side& side) { return side.widens; }))
    impl->widened.resize(static_cast<std::size_t>(impl->capacity * options.block.rows * options.block.cols));
  return DynamicMatmulPlan(std::move(impl));
}

Status DynamicMatmulPlan::run(const DynamicPattern& pattern, const BlockValues& values, const ConstMatrix& x,
                              const MutableMatrix& y) {
  return run(pattern, values, x, y, default_executor());
}

Status DynamicMatmulPlan::run(const DynamicPattern& pattern, const BlockValues& values, const ConstMatrix& x,
                              const MutableMatrix& y, Executor& executor) {
  return impl_->run(impl_->sides[0], pattern, values, x, y, executor);
}

Status DynamicMatmulPlan::run_transposed(const DynamicPattern& pattern, const BlockValues& values, const ConstMatrix& x,
                                         const MutableMatrix& y) {
  return run_transposed(pattern, values, x, y, default_executor());
}

Status DynamicMatmulPlan::run_transposed(const DynamicPattern& pattern, const BlockValues& values, const ConstMatrix& x,
                                         const MutableMatrix& y, Executor& executor) {
  if (impl_->sides.size() < 2)
    return fail(ErrorCode::kInvalidArgument,
                "dynamic matmul: run_transposed needs a plan made with DynamicMatmulOptions::transposed");
  return impl_->run(impl_->sides[1], pattern, values, x, y, executor);
}

std::int64_t DynamicMatmulPlan::capacity_blocks() const { return impl_->capacity; }
const std::string& DynamicMatmulPlan::kernel() const { return impl_->sides[0].kernel; }
const std::string& DynamicMatmulPlan::transposed_kernel() const {
  static const std::string none;
  return impl_->sides.size() < 2 ? none : impl_->sides[1].kernel;
}

}  // namespace espalier
