// Prices one product in each mode.
#include <algorithm>
#include <espalier/ipu.hpp>
#include <tuple>

#include "base/fail.hpp"
#include "targets/ipu/best.hpp"
#include "targets/ipu/dense_model.hpp"
#include "targets/ipu/describe.hpp"
#include "targets/ipu/dynamic_planner.hpp"
#include "targets/ipu/price.hpp"
#include "targets/ipu/static_planner.hpp"

namespace espalier::ipu {
namespace {

// Beyond these nothing fits, and counts of cycles would overflow.
constexpr std::int64_t kMaxSide = std::int64_t{1} << 18;  // of m and k
constexpr std::int64_t kMaxColumns = std::int64_t{1} << 22;

Status check(const Problem& problem, Mode mode) {
  for (const auto& [name, size, most] :
       {std::tuple{"m", problem.m, kMaxSide}, {"k", problem.k, kMaxSide}, {"n", problem.n, kMaxColumns}})
    if (size < 1 || size > most)
      return fail(ErrorCode::kInvalidArgument, "estimate: expected {} from 1 to {}, found {}", name, most, size);
  if (problem.dtype != DType::kF16 && problem.dtype != DType::kF32)
    return fail(ErrorCode::kInvalidArgument, "estimate: expected the type f16 or f32, found {}",
                to_string(problem.dtype));
  if (mode == Mode::kDense) return {};
  constexpr std::int64_t kBlocks[] = {1, 4, 8, 16, 32};
  if (std::find(std::begin(kBlocks), std::end(kBlocks), problem.block) == std::end(kBlocks))
    return fail(ErrorCode::kInvalidArgument, "estimate: expected a block of 1, 4, 8, 16 or 32, found {}",
                problem.block);
  if (problem.m % problem.block != 0 || problem.k % problem.block != 0)
    return fail(ErrorCode::kInvalidArgument,
                "estimate: expected m and k in whole blocks of {}, found {} and {}; pad them", problem.block, problem.m,
                problem.k);
  if (!(problem.density > 0) || problem.density > 1)
    return fail(ErrorCode::kInvalidArgument, "estimate: expected a density above 0 and at most 1, found {}",
                problem.density);
  return {};
}

tl::unexpected<Error> out_of_memory(const Machine& machine, const Problem& problem, Mode mode, std::int64_t bytes,
                                    std::int64_t words) {
  const std::string size = fmt::format("{} x {} x {}", problem.m, problem.k, problem.n);
  if (words > kMaxListWords)
    return fail(
        ErrorCode::kLimit,
        "estimate: a {} product of {} needs an index list of {} words on a tile of {}, which holds {}; lower n or "
        "the density, or use a larger block",
        to_string(mode), size, words, machine.name, kMaxListWords);
  return fail(ErrorCode::kLimit,
              "estimate: a {} product of {} needs {} bytes on a tile of {}, of which plans may use {} of {}; lower n",
              to_string(mode), size, bytes, machine.name, usable_bytes(machine), machine.tile_bytes);
}

Result<Estimate> estimate_dense(const Machine& machine, const Problem& problem) {
  const DenseChoice choice = plan_dense(machine, problem);
  if (!choice.fits) return out_of_memory(machine, problem, Mode::kDense, machine.tile_bytes, 0);
  const DenseWeights& w = dense_weights(problem.dtype);
  Estimate estimate;
  estimate.phases = {{"synchronise", w.fixed},
                     {"load", w.load * choice.plan.load},
                     {"exchange", w.exchange * choice.plan.exchange},
                     {"compute", choice.plan.compute},
                     {"reduce", w.reduce * choice.plan.reduce}};
  estimate.raw_cycles = choice.cycles;
  estimate.tile_bytes = choice.plan.tile_bytes;
  describe(choice.plan, estimate);
  return estimate;
}

}  // namespace

std::string_view to_string(Mode mode) noexcept {
  switch (mode) {
    case Mode::kDense:
      return "dense";
    case Mode::kStatic:
      return "static";
    case Mode::kDynamic:
      return "dynamic";
    case Mode::kBest:
      return "best";
  }
  return "unknown";
}

Result<Estimate> estimate(const Machine& machine, const Problem& problem, Mode mode) {
  ESPALIER_TRY(check(problem, mode));
  if (mode == Mode::kDense) {
    auto result = estimate_dense(machine, problem);
    if (!result) return result;
    finish(machine, problem, mode, *result);
    return result;
  }
  const SparseChoice choice =
      mode == Mode::kBest ? plan_best(machine, problem) : plan_published(machine, problem, mode);
  if (!choice.fits)
    return out_of_memory(machine, problem, mode, choice.tile_bytes(),
                         choice.is_static ? choice.static_plan.cost.list_words : 0);
  return price(machine, problem, mode, choice);
}

Result<Estimate> estimate_best_n(const Machine& machine, const Problem& problem, Mode mode) {
  Result<Estimate> best = make_error(ErrorCode::kLimit, "");
  double dense_rate = 0;
  for (std::int64_t n = 4; n <= 65536; n *= 4) {
    Problem at = problem;
    at.n = n;
    auto candidate = estimate(machine, at, mode);
    if (const DenseChoice dense = plan_dense(machine, at); dense.fits)
      dense_rate = std::max(dense_rate, static_cast<double>(n) / dense.cycles);
    const bool better = candidate ? !best || candidate->tflops > best->tflops : !best && best.error().message.empty();
    if (better) best = std::move(candidate);
  }
  if (!best) return best;
  best->dense_cycles = static_cast<double>(best->problem.n) / dense_rate;
  best->speedup = best->dense_cycles / best->cycles;
  return best;
}

}  // namespace espalier::ipu
