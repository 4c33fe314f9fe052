// Running the sampled product: for each share of n that keeps X in L2, both operands are brought into the kernel's
// form, then each worker takes as many kept blocks. Rows of f32 that lie feature by feature are read in place.
#include <algorithm>
#include <cstring>

#include "base/flush_denormals.hpp"
#include "matmul/sampled.hpp"
#include "matmul/scratch.hpp"

namespace espalier {
namespace {

using kernels::SddmmArgs;
using kernels::SddmmKernel;
using kernels::SddmmOperands;

constexpr std::int64_t kFloat = sizeof(float);
// Below this many multiply-adds waking other workers costs more than they save.
constexpr std::int64_t kWorthThreads = 200'000;

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

// dY or X: `features` rows, or columns where the rows are tokens.
class Operand {
 public:
  // Kernels of panels read whole blocks: `block` features, of which the matrix may lack some at its edge.
  Operand(const ConstMatrix& matrix, std::int64_t features, std::int64_t block, std::int64_t panel,
          const SampledPlan::Impl& plan)
      : data_(static_cast<const std::byte*>(matrix.data)),
        stride_((matrix.stride == 0 ? matrix.cols : matrix.stride) * static_cast<std::int64_t>(size_of(matrix.dtype))),
        features_(features),
        whole_blocks_(round_up(features, block)),
        panel_(panel),
        kernel_(*plan.kernel),
        tokens_(plan.options.order == DataOrder::kTokens),
        bf16_(matrix.dtype == DType::kBf16) {}

  // Rows that lie far apart fall on the same few cache sets.
  bool in_place() const { return panel_ == 0 && !tokens_ && !bf16_ && stride_ <= kInPlaceRowBytes; }
  // In floats, between panels or rows.
  std::int64_t stride(std::int64_t steps) const {
    if (in_place()) return stride_ / kFloat;
    return panel_ != 0 ? steps * panel_ : round_up(steps, kernel_.lanes);
  }
  std::int64_t bytes(std::int64_t steps) const {
    if (in_place()) return 0;
    return (panel_ != 0 ? round_up(whole_blocks_, panel_) / panel_ : features_) * stride(steps) * kFloat;
  }
  const float* at(std::int64_t first_step) const { return reinterpret_cast<const float*>(data_ + first_step * kFloat); }

  // Brings worker's share of the features to `target`.
  void prepare(std::int64_t first_step, std::int64_t steps, std::int64_t worker, std::int64_t workers,
               float* target) const {
    const std::int64_t slices = (features_ + kSlice - 1) / kSlice;
    const std::int64_t first = std::min(slices * worker / workers * kSlice, features_);
    const std::int64_t count = std::min(slices * (worker + 1) / workers * kSlice, features_) - first;
    if (count <= 0 || steps == 0 || in_place()) return;
    Source source{data_, stride_, first, first_step};
    if (bf16_) source = widened(first, count, first_step, steps);
    using kernels::Order;
    if (panel_ != 0)
      kernel_.pack({.x = source.data,
                    .stride = source.stride,
                    .order = tokens_ ? Order::kFeatureMajor : Order::kTokens,
                    .first_row = source.first_step,
                    .rows = steps,
                    .packed_rows = steps,
                    .first_column = source.first_feature,
                    .columns = count,
                    .tile_cols = static_cast<std::int32_t>(panel_),
                    .panels = target + first / panel_ * stride(steps),
                    .panel_stride = stride(steps) * kFloat});
    else
      kernel_.pack({.x = source.data,
                    .stride = source.stride,
                    .order = tokens_ ? Order::kTokens : Order::kFeatureMajor,
                    .first_row = source.first_feature,
                    .rows = count,
                    .packed_rows = count,
                    .first_column = source.first_step,
                    .columns = steps,
                    .tile_cols = static_cast<std::int32_t>(stride(steps)),
                    .panels = target + first * stride(steps),
                    .panel_stride = 0});
  }

 private:
  static constexpr std::int64_t kInPlaceRowBytes = 2048;
  static constexpr std::int64_t kSlice = 64;  // features: whole panels

  struct Source {
    const std::byte* data;
    std::int64_t stride, first_feature, first_step;
  };

  // The share as f32 in this thread's scratch, in the order in which it lies.
  Source widened(std::int64_t first, std::int64_t count, std::int64_t first_step, std::int64_t steps) const {
    const std::int64_t rows = tokens_ ? steps : count, cols = tokens_ ? count : steps;
    const std::int64_t first_row = tokens_ ? first_step : first, first_col = tokens_ ? first : first_step;
    auto* const wide = reinterpret_cast<std::uint32_t*>(
        thread_scratch(ScratchUse::kPartial, static_cast<std::size_t>(rows * cols * kFloat)));
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto* const from = reinterpret_cast<const std::uint16_t*>(data_ + (first_row + row) * stride_) + first_col;
      for (std::int64_t col = 0; col < cols; ++col) wide[row * cols + col] = std::uint32_t{from[col]} << 16;
    }
    return {reinterpret_cast<const std::byte*>(wide), cols * kFloat, 0, 0};
  }

  const std::byte* data_;
  std::int64_t stride_, features_, whole_blocks_, panel_;
  const SddmmKernel& kernel_;
  bool tokens_, bf16_;
};

struct Units {
  std::int64_t first = 0, last = 0, block_row = 0;
};

Units share_of(const SampledPlan::Impl& plan, std::int64_t worker, std::int64_t workers) {
  Units units{plan.units() * worker / workers, plan.units() * (worker + 1) / workers, 0};
  const auto after = std::upper_bound(plan.starts.begin(), plan.starts.end(), static_cast<std::uint32_t>(units.first));
  units.block_row = after - plan.starts.begin() - 1;
  return units;
}

// What ragged blocks and groups store beyond the matrix.
void clear_beyond(const SampledPlan::Impl& plan, const Units& units, float* dw) {
  const auto [r, c] = plan.block;
  std::int64_t row = units.block_row;
  for (std::int64_t unit = units.first; unit < units.last; ++unit) {
    while (unit >= plan.starts[static_cast<std::size_t>(row) + 1]) ++row;
    const std::int64_t rows = std::min(r, plan.rows - row * r);
    const std::int64_t first_col = plan.columns[static_cast<std::size_t>(unit)] * c;
    const std::int64_t cols = std::clamp<std::int64_t>(plan.cols - first_col, 0, c);
    float* const values = dw + unit * r * c;
    for (std::int64_t i = 0; i < rows && cols < c; ++i) std::fill_n(values + i * c + cols, c - cols, 0.0F);
    std::fill_n(values + rows * c, (r - rows) * c, 0.0F);
  }
}

}  // namespace

void run_sampled(const SampledPlan::Impl& plan, const ConstMatrix& dy, const ConstMatrix& x, float* dw,
                 Executor& executor) {
  const SddmmKernel& kernel = *plan.kernel;
  const bool panels = kernel.operands == SddmmOperands::kPanels;
  const Operand left(dy, plan.rows, plan.block.rows, panels ? kernels::kDyPanel : 0, plan);
  const Operand right(x, plan.cols, plan.block.cols, panels ? kernel.x_panel : 0, plan);
  const std::int64_t n = plan.options.order == DataOrder::kTokens ? dy.rows : dy.cols;
  const std::int64_t workers = plan.value_count() * std::max<std::int64_t>(n, 1) >= kWorthThreads ? executor.size() : 1;
  const auto on_all = [&](auto&& task) {
    if (workers == 1)
      task(0);
    else
      executor.parallel_for(workers, [&](std::int64_t worker, int) { task(worker); });
  };
  SddmmArgs args;
  args.starts = plan.starts.data();
  args.columns = plan.columns.data();
  args.block_rows = plan.block.rows;
  args.block_cols = plan.block.cols;
  args.rows = plan.rows;
  args.cols = plan.cols;
  args.values = dw;
  args.alpha = plan.options.alpha;
  for (std::int64_t first = 0; first == 0 || first < n; first += plan.steps) {
    args.steps = std::min(plan.steps, n - first);
    args.beta = first == 0 ? plan.options.beta : 1.0F;
    args.dy_stride = left.stride(args.steps);
    args.x_stride = right.stride(args.steps);
    float* const left_packed =
        reinterpret_cast<float*>(thread_scratch(ScratchUse::kOwnX, static_cast<std::size_t>(left.bytes(args.steps))));
    float* const right_packed = reinterpret_cast<float*>(
        thread_scratch(ScratchUse::kSharedX, static_cast<std::size_t>(right.bytes(args.steps))));
    args.dy = left.in_place() ? left.at(first) : left_packed;
    args.x = right.in_place() ? right.at(first) : right_packed;
    if (!left.in_place() || !right.in_place())
      on_all([&](std::int64_t worker) {
        left.prepare(first, args.steps, worker, workers, left_packed);
        right.prepare(first, args.steps, worker, workers, right_packed);
      });
    on_all([&](std::int64_t worker) {
      const FlushDenormals flush;
      const Units units = share_of(plan, worker, workers);
      SddmmArgs own = args;
      own.first_unit = units.first;
      own.last_unit = units.last;
      own.first_block_row = units.block_row;
      kernel.run(own);
      if (plan.beyond && first + plan.steps >= n) clear_beyond(plan, units, dw);
    });
  }
}

}  // namespace espalier
