// Weights from the canonical order [m, k, kh, kw] to the order in which the kernels read them.
#include <algorithm>

#include "base/fail.hpp"
#include "kernels/conv/conv.hpp"

namespace espalier::conv {
namespace {

// The widest entry that splits neither a block nor the channels: so an entry of a block pattern is kept whole.
int entry_columns(std::int64_t channels, std::int64_t block_cols, int per_slot) {
  for (const int cols : {8, 4})
    if (channels % cols == 0 && block_cols % cols == 0) return cols;
  return per_slot;
}

// Which entries (of `cols` input channels) a group of rows keeps.
void kept_entries(const PackedConv& p, const Mask* kept, std::int64_t group, std::vector<std::int32_t>& columns) {
  const std::int64_t first = group * p.rows, last = std::min(first + p.rows, p.out_channels);
  for (std::int64_t entry = 0; entry < p.in_channels / p.cols; ++entry) {
    bool any = kept == nullptr;
    for (std::int64_t m = first; m < last && !any; ++m)
      for (std::int64_t k = entry * p.cols; k < (entry + 1) * p.cols && !any; ++k) any = kept->at(m, k);
    if (any) columns.push_back(static_cast<std::int32_t>(entry));
  }
}

Status check_weights(const Tensor& weights, const Tensor& bias, const Mask* kept, int rows, DType dtype) {
  const auto invalid = [](const char* what, const std::string& found) {
    return fail(ErrorCode::kInvalidArgument, "pack_conv: expected {}, found {}", what, found);
  };
  if (weights.dtype() != DType::kF32 || weights.rank() != 4)
    return invalid("f32 weights of rank 4 [m, k, kh, kw]", to_string(weights.shape()));
  if (weights.count() == 0) return invalid("weights with elements", to_string(weights.shape()));
  if (bias.defined() && (bias.dtype() != DType::kF32 || bias.count() != weights.dim(0)))
    return invalid("an f32 bias with one value per output channel", to_string(bias.shape()));
  if (kept != nullptr && (kept->rows != weights.dim(0) || kept->cols != weights.dim(1)))
    return invalid("a mask of m x k", fmt::format("{}x{}", kept->rows, kept->cols));
  const bool paired = dtype == DType::kBf16;
  if (dtype != DType::kF32 && !paired) return invalid("values to pack as f32 or bf16", std::string(to_string(dtype)));
  if (paired && (weights.dim(0) % 2 != 0 || weights.dim(1) % 2 != 0))
    return invalid("even numbers of channels for bf16", to_string(weights.shape()));
  if (rows < 1 || rows > 64) return invalid("groups of 1 to 64 rows", fmt::format("{}", rows));
  return {};
}

}  // namespace

double PackedConv::work_density() const {
  const double dense = static_cast<double>(groups()) * static_cast<double>(in_channels);
  return dense > 0 ? static_cast<double>(entries()) * cols / dense : 0;
}

namespace {

// Calls fn(packed position, m, k, tap) for every packed value: [entries][taps][cols / per_slot][rows][per_slot]. Rows
// beyond the last channel are left out.
template <typename F>
void each_value(const PackedConv& p, F fn) {
  const auto starts = p.starts.values<std::int32_t>(), columns = p.columns.values<std::int32_t>();
  const std::int64_t per_slot = p.per_slot();
  std::size_t at = 0;
  for (std::int64_t group = 0; group < p.groups(); ++group)
    for (std::int32_t e = starts[static_cast<std::size_t>(group)]; e < starts[static_cast<std::size_t>(group) + 1]; ++e)
      for (std::int64_t tap = 0; tap < p.taps; ++tap)
        for (std::int64_t col = 0; col < p.cols; col += per_slot)
          for (std::int64_t row = 0; row < p.rows; ++row)
            for (std::int64_t i = 0; i < per_slot; ++i, ++at) {
              const std::int64_t m = group * p.rows + row;
              const std::int64_t k = columns[static_cast<std::size_t>(e)] * static_cast<std::int64_t>(p.cols) + col + i;
              if (m < p.out_channels) fn(at, m, k, tap);
            }
}

// Of a weight in [m, k, taps].
std::size_t position(const PackedConv& p, std::int64_t m, std::int64_t k, std::int64_t tap) {
  return static_cast<std::size_t>((m * p.in_channels + k) * p.taps + tap);
}

template <typename T>
void pack_values(const Tensor& weights, const Mask* kept, PackedConv& p) {
  const auto source = weights.values<float>();
  const auto target = p.values.values<T>();
  each_value(p, [&](std::size_t at, std::int64_t m, std::int64_t k, std::int64_t tap) {
    if (kept == nullptr || kept->at(m, k)) target[at] = T(source[position(p, m, k, tap)]);
  });
}

template <typename T>
void unpack_values(const PackedConv& p, std::span<float> target) {
  const auto source = p.values.values<T>();
  each_value(p, [&](std::size_t at, std::int64_t m, std::int64_t k, std::int64_t tap) {
    target[position(p, m, k, tap)] = static_cast<float>(source[at]);
  });
}

}  // namespace

Tensor unpack_conv(const PackedConv& packed) {
  Tensor weights(DType::kF32, {packed.out_channels, packed.in_channels, packed.taps});
  if (packed.values.dtype() == DType::kBf16)
    unpack_values<bf16>(packed, weights.values<float>());
  else
    unpack_values<float>(packed, weights.values<float>());
  return weights;
}

Result<PackedConv> pack_conv(const Tensor& weights, const Tensor& bias, const Mask* kept, Block block, int rows,
                             DType dtype) {
  ESPALIER_TRY(check_weights(weights, bias, kept, rows, dtype));
  PackedConv p;
  p.out_channels = weights.dim(0);
  p.in_channels = weights.dim(1);
  p.taps = weights.dim(2) * weights.dim(3);
  p.rows = rows;
  p.cols = entry_columns(p.in_channels, kept == nullptr ? p.in_channels : block.cols, dtype == DType::kBf16 ? 2 : 1);

  std::vector<std::int32_t> starts{0}, columns;
  for (std::int64_t group = 0; group < p.groups(); ++group) {
    kept_entries(p, kept, group, columns);
    starts.push_back(static_cast<std::int32_t>(columns.size()));
  }
  p.starts =
      Tensor::of<std::int32_t>({static_cast<std::int64_t>(starts.size())}, std::span<const std::int32_t>(starts));
  p.columns =
      Tensor::of<std::int32_t>({static_cast<std::int64_t>(columns.size())}, std::span<const std::int32_t>(columns));
  p.values = Tensor(dtype, {p.entries(), p.taps, p.cols, rows});
  p.bias = Tensor(DType::kF32, {p.groups() * rows});
  if (bias.defined()) std::ranges::copy(bias.values<float>(), p.bias.values<float>().begin());

  if (dtype == DType::kBf16)
    pack_values<bf16>(weights, kept, p);
  else
    pack_values<float>(weights, kept, p);
  return p;
}

Status validate(const PackedConv& p) {
  const auto bad = [](auto format, auto... args) {
    return make_error(ErrorCode::kInvalidData, fmt::format(fmt::runtime(format), args...));
  };
  if (p.out_channels < 1 || p.in_channels < 1 || p.taps < 1 || p.rows < 1 ||
      (p.cols != p.per_slot() && p.cols != 4 && p.cols != 8) || p.in_channels % p.cols != 0)
    return bad("packed convolution: sizes {} x {}, {} taps, groups of {} rows, entries of {} channels do not fit",
               p.out_channels, p.in_channels, p.taps, p.rows, p.cols);
  const DType values = p.values.dtype();
  if (p.starts.dtype() != DType::kI32 || p.columns.dtype() != DType::kI32 || p.bias.dtype() != DType::kF32 ||
      (values != DType::kF32 && values != DType::kBf16))
    return bad("packed convolution: starts and columns must be i32, values f32 or bf16, the bias f32");
  if (p.starts.count() != p.groups() + 1 || p.values.count() != p.entries() * p.taps * p.cols * p.rows ||
      p.bias.count() != p.groups() * p.rows)
    return bad("packed convolution: {} starts, {} values and {} biases do not fit {} groups and {} entries",
               p.starts.count(), p.values.count(), p.bias.count(), p.groups(), p.entries());
  const auto starts = p.starts.values<std::int32_t>();
  const auto columns = p.columns.values<std::int32_t>();
  if (starts.front() != 0 || starts.back() != p.entries())
    return bad("packed convolution: starts run from {} to {}, expected 0 to {}", starts.front(), starts.back(),
               p.entries());
  for (std::size_t g = 0; g + 1 < starts.size(); ++g)
    if (starts[g] > starts[g + 1]) return bad("packed convolution: starts fall at group {}", g);
  for (std::size_t e = 0; e < columns.size(); ++e)
    if (columns[e] < 0 || columns[e] >= p.in_channels / p.cols)
      return bad("packed convolution: entry {} names column {} of {}", e, columns[e], p.in_channels / p.cols);
  return {};
}

Mask mask_of_blocks(const BlockSparse& pattern) {
  Mask mask{pattern.rows, pattern.cols,
            std::vector<std::uint8_t>(static_cast<std::size_t>(pattern.rows * pattern.cols))};
  for (std::int64_t row = 0; row < pattern.block_rows(); ++row)
    for (std::int64_t b = pattern.row_starts[row]; b < pattern.row_starts[row + 1]; ++b) {
      const std::int64_t m_end = std::min((row + 1) * pattern.block.rows, pattern.rows);
      const std::int64_t k_begin = pattern.block_cols[b] * pattern.block.cols;
      const std::int64_t k_end = std::min(k_begin + pattern.block.cols, pattern.cols);
      for (std::int64_t m = row * pattern.block.rows; m < m_end; ++m)
        for (std::int64_t k = k_begin; k < k_end; ++k) mask.keep[static_cast<std::size_t>(m * pattern.cols + k)] = 1;
    }
  return mask;
}

}  // namespace espalier::conv
