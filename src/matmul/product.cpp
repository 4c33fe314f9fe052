#include "matmul/product.hpp"

#include <algorithm>
#include <cstddef>

#include "base/flush_denormals.hpp"
#include "matmul/column_groups.hpp"
#include "matmul/scratch.hpp"
#include "matmul/transpose_rows.hpp"

namespace espalier {
namespace {

using kernels::KernelInfo;
using kernels::Order;
using kernels::SpmmArgs;

// Of one accumulator: 4 bytes, of f64 8. Y of them is not rounded.
std::int64_t sum_bytes(const KernelInfo& kernel) { return static_cast<std::int64_t>(size_of(kernel.y)); }
// Below this many multiply-adds waking other workers costs more than they save.
constexpr std::int64_t kWorthThreads = 200'000;
// X is read in place only while its rows are short enough not to fall on the same few cache sets.
constexpr std::int64_t kInPlaceRowBytes = 1024;

struct StripRange {
  std::int64_t first = 0, last = 0;
};

class Run {
 public:
  Run(const Product& product, const ProductCall& call, Executor& executor)
      : product_(product), call_(call), executor_(executor) {}

  void all() {
    const bool worth = product_.kept_values * call_.n >= kWorthThreads || product_.m * call_.n >= kWorthThreads;
    const std::int64_t workers = worth ? executor_.size() : 1;
    const ColumnGroups groups(product_, call_.n, 1);
    if (workers == 1) {
      const FlushDenormals flush;
      for (std::int64_t g = 0; g < groups.count(); ++g) multiply(groups[g], nullptr, {0, product_.strips});
      return;
    }
    // Even shares of columns need no exchange between workers at all.
    const ColumnGroups shares(product_, call_.n, workers);
    if (shares.count() % workers == 0 || shares.count() >= 4 * workers) {
      if (groups.count() >= workers || weights_are_light()) {
        executor_.parallel_for(shares.count(), [&](std::int64_t g, int) {
          const FlushDenormals flush;
          multiply(shares[g], nullptr, {0, product_.strips});
        });
        return;
      }
    }
    for (std::int64_t g = 0; g < groups.count(); ++g) share_rows(groups[g], workers);
  }

 private:
  // Whether reading W once per column share costs less than exchanging packed X.
  bool weights_are_light() const { return product_.kept_values < product_.k * std::min<std::int64_t>(call_.n, 64) / 4; }

  bool in_place(const ColumnGroup& group) const {
    if (!group.kernel->x_in_place || call_.x_order != Order::kFeatureMajor) return false;
    if (call_.x_type != group.kernel->x) return false;
    const auto address = reinterpret_cast<std::uintptr_t>(call_.x);
    if (address % 64 != 0 || call_.x_stride % 64 != 0 || call_.x_stride > kInPlaceRowBytes) return false;
    if (group.cols % group.kernel->tile_cols != 0) return false;
    return std::all_of(product_.parts.begin(), product_.parts.end(),
                       [](const WeightPart& part) { return part.packed_rows == part.cols; });
  }

  std::int64_t panel_stride(const ColumnGroup& group, const WeightPart& part) const {
    return (part.packed_rows * packed_row_bytes(*group.kernel) + 63) / 64 * 64;
  }

  // Packs rows [first, last) of a part's packed rows to where they belong in its panels.
  void pack(const ColumnGroup& group, const WeightPart& part, std::int64_t first, std::int64_t last,
            std::byte* panels) const {
    const std::int64_t per_row = group.kernel->k_per_row;
    const std::int64_t first_k = first * per_row;
    group.kernel->pack_x({.x = call_.x,
                          .stride = call_.x_stride,
                          .order = call_.x_order,
                          .first_row = part.first_col + first_k,
                          .rows = std::clamp<std::int64_t>(part.cols - first_k, 0, (last - first) * per_row),
                          .packed_rows = last - first,
                          .first_column = group.first,
                          .columns = group.cols,
                          .tile_cols = group.kernel->tile_cols,
                          .panels = panels + first * packed_row_bytes(*group.kernel),
                          .panel_stride = panel_stride(group, part),
                          .from_signed = call_.x_type == DType::kI8,
                          .from_f16 = call_.x_type == DType::kF16});
  }

  // All workers pack one group, then each multiplies strips of its own.
  void share_rows(const ColumnGroup& group, std::int64_t workers) {
    std::byte* shared = nullptr;
    if (!in_place(group)) {
      std::int64_t bytes = 0;
      for (const WeightPart& part : product_.parts) bytes += group.panels * panel_stride(group, part);
      shared = thread_scratch(ScratchUse::kSharedX, static_cast<std::size_t>(bytes));
      executor_.parallel_for(workers, [&](std::int64_t worker, int) {
        std::byte* panels = shared;
        for (const WeightPart& part : product_.parts) {
          // Slices of 16 rows keep transposing packers on whole tiles.
          const std::int64_t slices = (part.packed_rows + 15) / 16;
          const std::int64_t first = std::min(slices * worker / workers * 16, part.packed_rows);
          const std::int64_t last = std::min(slices * (worker + 1) / workers * 16, part.packed_rows);
          if (first < last) pack(group, part, first, last, panels);
          panels += group.panels * panel_stride(group, part);
        }
      });
    }
    executor_.parallel_for(workers, [&](std::int64_t worker, int) {
      const FlushDenormals flush;
      multiply(group, shared, {strip_at(worker, workers), strip_at(worker + 1, workers)});
    });
  }

  // Where share `index` of `shares` begins, each with as much work: kept blocks, and a little for every strip.
  std::int64_t strip_at(std::int64_t index, std::int64_t shares) const {
    if (index == shares) return product_.strips;
    const std::vector<std::int64_t>& before = product_.units_before;
    const std::int64_t block_rows = static_cast<std::int64_t>(before.size()) - 1;
    const auto work_before = [&](std::int64_t row) { return before[static_cast<std::size_t>(row)] + row; };
    const std::int64_t target = work_before(block_rows) * index / shares;
    std::int64_t low = 0, high = block_rows;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (work_before(middle + 1) <= target)
        low = middle + 1;
      else
        high = middle;
    }
    if (low >= block_rows) return product_.strips;
    const std::int64_t inside = (target - work_before(low)) * product_.strips_per_block_row /
                                std::max<std::int64_t>(work_before(low + 1) - work_before(low), 1);
    return std::min(low * product_.strips_per_block_row + inside, product_.strips);
  }

  // `shared` holds the packed parts of the group one after another, or is nullptr: then this worker packs for itself.
  void multiply(const ColumnGroup& group, const std::byte* shared, StripRange strips) const {
    if (strips.first >= strips.last) return;
    const bool direct = in_place(group);
    const std::size_t count = product_.parts.size();
    std::byte* partial = nullptr;
    if (count > 1)
      partial = thread_scratch(
          ScratchUse::kPartial,
          static_cast<std::size_t>((strips.last - strips.first) * group.panels * group.kernel->tile_rows *
                                   group.kernel->tile_cols * sum_bytes(*group.kernel)));
    for (std::size_t i = 0; i < count; ++i) {
      const WeightPart& part = product_.parts[i];
      SpmmArgs args = part.weights;
      if (direct) {
        args.x_panel_stride = packed_row_bytes(*group.kernel);
        args.x = static_cast<const char*>(call_.x) + part.first_col * call_.x_stride +
                 group.first * (args.x_panel_stride / group.kernel->tile_cols);
        args.x_row_stride = call_.x_stride;
      } else {
        args.x_panel_stride = panel_stride(group, part);
        args.x_row_stride = packed_row_bytes(*group.kernel);
        if (shared != nullptr) {
          args.x = shared;
          shared += group.panels * args.x_panel_stride;
        } else {
          std::byte* const own =
              thread_scratch(ScratchUse::kOwnX, static_cast<std::size_t>(group.panels * args.x_panel_stride));
          pack(group, part, 0, part.packed_rows, own);
          args.x = own;
        }
      }
      args.panels = group.panels;
      args.rows = product_.m;
      args.columns_left = group.cols;
      args.first_strip = strips.first;
      args.last_strip = strips.last;
      args.partial = partial;
      args.load_partial = i > 0;
      args.store_partial = i + 1 < count;
      args.epilogue = call_.epilogue;
      if (args.store_partial || call_.y_order == Order::kFeatureMajor)
        store_rows(group, args);
      else
        store_tokens(group, args);
    }
  }

  void store_rows(const ColumnGroup& group, SpmmArgs& args) const {
    const std::int64_t first = group.first * bytes_of(args.epilogue.storage);
    args.y = static_cast<char*>(call_.y) + first;
    args.y_row_stride = call_.y_stride;
    if (args.epilogue.residual != nullptr)
      args.epilogue.residual = static_cast<const char*>(args.epilogue.residual) + first;
    group.kernel->run(args);
  }

  void store_tokens(const ColumnGroup& group, SpmmArgs& args) const {
    switch (bytes_of(args.epilogue.storage)) {
      case 1:
        return store_tokens_as<std::uint8_t>(group, args);
      case 2:
        return store_tokens_as<std::uint16_t>(group, args);
      case 8:
        return store_tokens_as<double>(group, args);
      default:
        return store_tokens_as<float>(group, args);
    }
  }

  // Y is n x m of elements T: a few strips at a time go to scratch row by row and from there, transposed, to Y.
  template <typename T>
  void store_tokens_as(const ColumnGroup& group, SpmmArgs& args) const {
    constexpr std::int64_t kBytes = sizeof(T);
    const KernelInfo& kernel = *group.kernel;
    const std::int64_t strips_at_once = std::max<std::int64_t>(64 / kernel.tile_rows, 1);
    const std::int64_t stride = (group.cols + 15) / 16 * 16;
    const std::int64_t rows_at_once = strips_at_once * kernel.tile_rows;
    auto* const rows = reinterpret_cast<T*>(
        thread_scratch(ScratchUse::kRows, static_cast<std::size_t>(rows_at_once * stride * kBytes)));
    const StripRange all{args.first_strip, args.last_strip};
    auto* partial = static_cast<std::byte*>(args.partial);
    for (std::int64_t strip = all.first; strip < all.last; strip += strips_at_once) {
      args.first_strip = strip;
      args.last_strip = std::min(strip + strips_at_once, all.last);
      const std::int64_t first_row = args.first_strip * kernel.tile_rows;
      const std::int64_t row_count = std::min(args.last_strip * kernel.tile_rows, product_.m) - first_row;
      // Kernels address Y by absolute rows: row 0 lies before the scratch.
      const auto row_zero =
          reinterpret_cast<std::uintptr_t>(rows) - static_cast<std::uintptr_t>(first_row * stride * kBytes);
      args.y = reinterpret_cast<void*>(row_zero);
      args.y_row_stride = stride * kBytes;
      args.partial = partial;
      if (partial != nullptr)
        partial += (args.last_strip - args.first_strip) * group.panels * kernel.tile_rows * kernel.tile_cols *
                   sum_bytes(kernel);
      const auto offset = [&](std::int64_t bytes) { return group.first * bytes + first_row * kBytes; };
      if (call_.epilogue.residual != nullptr) {
        const std::int64_t bytes = call_.epilogue.residual_stride;
        transpose_rows<T>(
            {reinterpret_cast<const T*>(static_cast<const char*>(call_.epilogue.residual) + offset(bytes)),
             bytes / kBytes},
            {rows, stride}, group.cols, row_count);
        args.epilogue.residual = reinterpret_cast<const void*>(row_zero);
        args.epilogue.residual_stride = stride * kBytes;
      }
      kernel.run(args);
      transpose_rows<T>(
          {rows, stride},
          {reinterpret_cast<T*>(static_cast<char*>(call_.y) + offset(call_.y_stride)), call_.y_stride / kBytes},
          row_count, group.cols);
    }
  }

  const Product& product_;
  const ProductCall& call_;
  Executor& executor_;
};

}  // namespace

const KernelInfo& kernel_for_rest(const Product& product, std::int64_t cols) {
  for (const KernelInfo* kernel : product.narrower)
    if (kernel->tile_cols >= cols && (kernel->max_n == 0 || cols <= kernel->max_n)) return *kernel;
  return *product.kernel;
}

void run_product(const Product& product, const ProductCall& call, Executor& executor) {
  if (product.m == 0 || call.n == 0) return;
  Run(product, call, executor).all();
}

}  // namespace espalier
