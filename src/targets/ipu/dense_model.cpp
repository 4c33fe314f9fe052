#include "targets/ipu/dense_model.hpp"

#include <algorithm>

#include "targets/ipu/memory_share.hpp"
#include "targets/ipu/rounding.hpp"

namespace espalier::ipu {
namespace {

// Weights are handled in groups of 16 rows and 16 (f16) or 8 (f32) columns.
constexpr std::int64_t kGroupRows = 16;
constexpr std::int64_t kGroupOverhead = 24;  // cycles for each group besides loading it

std::int64_t group_columns(DType dtype) { return dtype == DType::kF16 ? 16 : 8; }

class Candidates {
 public:
  Candidates(const Machine& machine, const Problem& problem) : machine_(machine), problem_(problem) {}

  std::vector<DensePlan> with_passes(std::int64_t passes) const {
    std::vector<DensePlan> plans;
    const std::int64_t rows = divide_up(problem_.m, kGroupRows);
    const std::int64_t columns = divide_up(problem_.k, group_columns(problem_.dtype));
    const std::int64_t n = divide_up(problem_.n, passes);
    for (std::int64_t mp = 1; mp <= std::min(rows, machine_.tiles); ++mp) {
      const std::int64_t m_tile = divide_up(rows, mp);
      if (divide_up(rows, m_tile) < mp) continue;  // the same tile size with fewer parts
      for (std::int64_t kp = 1; kp <= std::min(columns, machine_.tiles / mp); ++kp) {
        const std::int64_t k_tile = divide_up(columns, kp);
        if (divide_up(columns, k_tile) < kp) continue;
        const std::int64_t np = std::min(machine_.tiles / (mp * kp), n);
        const DensePlan plan = price({mp, kp, np, passes}, m_tile, k_tile, divide_up(n, np));
        if (plan.tile_bytes <= usable_bytes(machine_)) plans.push_back(plan);
      }
    }
    return plans;
  }

 private:
  DensePlan price(DensePlan plan, std::int64_t m_tile, std::int64_t k_tile, std::int64_t n_tile) const {
    const std::int64_t size = static_cast<std::int64_t>(size_of(problem_.dtype));
    const std::int64_t group = kGroupRows * group_columns(problem_.dtype);
    const std::int64_t macs = problem_.dtype == DType::kF16 ? machine_.macs_f16_f16 : machine_.macs_f32_f32;
    const std::int64_t x = k_tile * group_columns(problem_.dtype) * n_tile * size;
    const std::int64_t weights = m_tile * k_tile * group * size;
    const std::int64_t partials = m_tile * kGroupRows * n_tile * size;
    const auto passes = static_cast<double>(plan.passes);
    plan.compute =
        passes * static_cast<double>(m_tile * k_tile * group * machine_.workers * divide_up(n_tile, machine_.workers)) /
        static_cast<double>(macs);
    const std::int64_t load = group * size / 16 + kGroupOverhead;
    plan.load = passes * static_cast<double>(m_tile * k_tile * load);
    plan.exchange = passes *
                    static_cast<double>(x + (plan.n_parts > 1 ? weights : 0) + (plan.k_parts > 1 ? partials : 0)) /
                    static_cast<double>(machine_.exchange_bytes_per_cycle);
    plan.reduce = plan.k_parts > 1 ? passes * static_cast<double>(partials) / 8 : 0;
    plan.tile_bytes = x + weights + partials;
    return plan;
  }

  const Machine& machine_;
  const Problem& problem_;
};

}  // namespace

const DenseWeights& dense_weights(DType dtype) { return dtype == DType::kF16 ? kDenseF16 : kDenseF32; }

double dense_cycles(const DensePlan& plan, const DenseWeights& weights) {
  return plan.compute + weights.load * plan.load + weights.exchange * plan.exchange + weights.reduce * plan.reduce +
         weights.fixed;
}

std::vector<DensePlan> dense_candidates(const Machine& machine, const Problem& problem) {
  const Candidates candidates(machine, problem);
  for (std::int64_t passes = 1; passes < 2 * problem.n; passes *= 2)
    if (auto plans = candidates.with_passes(passes); !plans.empty()) return plans;
  return {};
}

DenseChoice plan_dense(const Machine& machine, const Problem& problem) {
  DenseChoice choice;
  for (const DensePlan& plan : dense_candidates(machine, problem)) {
    const double cycles = dense_cycles(plan, dense_weights(problem.dtype));
    if (!choice.fits || cycles < choice.cycles) choice = {true, plan, cycles};
  }
  return choice;
}

}  // namespace espalier::ipu
