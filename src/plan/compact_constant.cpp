#include "plan/compact_constant.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "base/fail.hpp"
#include "plan/round_weights.hpp"

namespace espalier::plan {
namespace {

// Below this no form is worth its description.
constexpr std::int64_t kLeastElements = 1024;

bool is_zero_run(std::span<const float> run, ZeroSign sign) {
  const std::uint32_t ignored = sign == ZeroSign::kDrop ? 0x80000000U : 0;
  return std::all_of(run.begin(), run.end(),
                     [=](float value) { return (std::bit_cast<std::uint32_t>(value) & ~ignored) == 0; });
}

// Which runs of `length` elements are kept.
std::vector<bool> kept_runs(std::span<const float> values, std::size_t length, ZeroSign sign) {
  std::vector<bool> kept(values.size() / length);
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = !is_zero_run(values.subspan(i * length, length), sign);
  return kept;
}

// Lengths of runs that patterns leave: single weights, and all taps of 1 to 32 neighbouring input channels (of a
// matrix: 1 to 32 neighbours).
std::vector<std::int64_t> run_lengths(const Tensor& tensor) {
  std::int64_t taps = 1;
  for (int axis = 2; axis < tensor.rank(); ++axis) taps *= tensor.dim(axis);
  std::vector<std::int64_t> lengths{1};
  for (std::int64_t columns = 1; columns <= 32; columns *= 2)
    if (taps * columns > 0 && tensor.count() % (taps * columns) == 0) lengths.push_back(taps * columns);
  return lengths;
}

std::size_t mask_bytes(std::int64_t runs) { return static_cast<std::size_t>((runs + 7) / 8); }

}  // namespace

CompactConstant compact_constant(const Tensor& tensor, ZeroSign sign) {
  if (tensor.dtype() != DType::kF32 || tensor.rank() < 2 || tensor.count() < kLeastElements) return {tensor, {}, 0};
  const Tensor flat = tensor.reshaped({tensor.count()});
  CompactConstant best{is_rounded_to_bf16(tensor) ? flat.cast(DType::kBf16) : flat, {}, 0};
  const std::size_t element = size_of(best.values.dtype());
  std::size_t least = best.values.bytes();
  std::vector<bool> kept;
  std::int64_t kept_count = 0;
  for (const std::int64_t run : run_lengths(tensor)) {
    std::vector<bool> runs = kept_runs(tensor.values<float>(), static_cast<std::size_t>(run), sign);
    const std::int64_t count = std::count(runs.begin(), runs.end(), true);
    const std::size_t bytes = static_cast<std::size_t>(count * run) * element + mask_bytes(std::ssize(runs));
    if (bytes >= least) continue;
    least = bytes;
    best.run = run;
    kept = std::move(runs);
    kept_count = count;
  }
  if (best.run == 0) return best;

  const std::size_t run_bytes = static_cast<std::size_t>(best.run) * element;
  Tensor values = Tensor::uninitialized(best.values.dtype(), {kept_count * best.run});
  best.kept = Tensor(DType::kU8, {static_cast<std::int64_t>(mask_bytes(std::ssize(kept)))});
  const auto* from = static_cast<const std::byte*>(best.values.raw());
  auto* to = static_cast<std::byte*>(values.raw());
  auto* mask = static_cast<std::uint8_t*>(best.kept.raw());
  for (std::size_t i = 0; i < kept.size(); ++i, from += run_bytes) {
    if (!kept[i]) continue;
    mask[i / 8] = static_cast<std::uint8_t>(mask[i / 8] | (1U << (i % 8)));
    std::memcpy(to, from, run_bytes);
    to += run_bytes;
  }
  best.values = values;
  return best;
}

Result<Tensor> expand_constant(const CompactConstant& compact, DType dtype, const Shape& shape) {
  ESPALIER_ASSIGN(const std::int64_t count, checked_element_count(shape));
  const Tensor& values = compact.values;
  const auto bad = [&](const char* what) {
    return fail(ErrorCode::kInvalidData, "a constant of shape {}: {}", espalier::to_string(shape), what);
  };
  if (!compact.kept.defined()) {
    if (values.count() != count) return bad("the number of its values does not fit");
    return (values.dtype() == dtype ? values : values.cast(dtype)).reshaped(shape);
  }
  const std::int64_t run = compact.run;
  if (run < 1 || count % run != 0) return bad("runs of zeros do not divide it");
  const std::int64_t runs = count / run;
  if (compact.kept.count() != static_cast<std::int64_t>(mask_bytes(runs)))
    return bad("the mask of its runs has another size");
  const auto mask = compact.kept.values<std::uint8_t>();
  std::int64_t kept = 0;
  for (const std::uint8_t byte : mask) kept += std::popcount(byte);
  const bool beyond = runs % 8 != 0 && (mask.back() >> (runs % 8)) != 0;
  if (beyond || kept * run != values.count()) return bad("the mask of its runs does not fit its values");
  Tensor whole(values.dtype(), shape);
  const std::size_t run_bytes = static_cast<std::size_t>(run) * size_of(values.dtype());
  const auto* from = static_cast<const std::byte*>(values.raw());
  auto* to = static_cast<std::byte*>(whole.raw());
  for (std::int64_t i = 0; i < runs; ++i, to += run_bytes) {
    if ((mask[static_cast<std::size_t>(i / 8)] >> (i % 8) & 1) == 0) continue;
    std::memcpy(to, from, run_bytes);
    from += run_bytes;
  }
  return whole.dtype() == dtype ? whole : whole.cast(dtype);
}

}  // namespace espalier::plan
