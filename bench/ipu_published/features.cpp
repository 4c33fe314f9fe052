#include "ipu_published/features.hpp"

#include <map>
#include <set>

#include "targets/ipu/best.hpp"
#include "targets/ipu/dense_model.hpp"
#include "targets/ipu/sparse_problem.hpp"

namespace espalier::bench {
namespace {

using Json = nlohmann::ordered_json;
using ipu::Problem;

constexpr std::int64_t kColumns[] = {4, 16, 64, 256, 1024, 2048, 4096, 8192, 16384, 32768, 65536};

Json dense_terms(const ipu::Machine& machine, const Problem& problem) {
  Json rows = Json::array();
  for (const ipu::DensePlan& plan : ipu::dense_candidates(machine, problem))
    rows.push_back({plan.compute, plan.load, plan.exchange, plan.reduce});
  return rows;
}

// Compute, then in the order of StaticWeights.
Json static_terms(const ipu::StaticCost& cost) {
  return {cost.compute + cost.zero,
          cost.x_exchange + cost.value_exchange + cost.partial_exchange,
          cost.x_gather,
          cost.final_move,
          1,
          cost.splits * cost.bands,
          cost.splits * cost.sources,
          cost.blocks};
}

}  // namespace

Json features_json(const ipu::Machine& machine, const Published& published) {
  Json json;
  std::set<std::tuple<DType, std::int64_t, std::int64_t>> dense;
  json["grid"] = Json::array();
  for (const GridCell& cell : published.grid) {
    const Problem problem{cell.m, cell.m, cell.n, cell.block, 1.0 / static_cast<double>(cell.inverse_density)};
    const ipu::SparseChoice choice = ipu::plan_published(machine, problem, ipu::Mode::kStatic);
    const ipu::StaticCost& cost = choice.static_plan.cost;
    Json row = {{"block", cell.block},
                {"m", cell.m},
                {"n", cell.n},
                {"inverse_density", cell.inverse_density},
                {"speedup", cell.speedup ? Json(*cell.speedup) : Json(nullptr)},
                {"planned", cost.planned_bytes <= ipu::usable_bytes(machine)},
                {"list_words", cost.list_words},
                {"terms", static_terms(cost)},
                {"raw", cost.raw()}};
    json["grid"].push_back(row);
    dense.insert({DType::kF16, cell.m, cell.n});
  }
  for (const DenseRate& rate : published.dense) dense.insert({rate.dtype, rate.m, rate.n});
  for (const BestRate& rate : published.best_dense)
    for (const std::int64_t n : kColumns) dense.insert({DType::kF16, rate.m, n});
  json["dense"] = Json::array();
  for (const auto& [dtype, m, n] : dense) {
    Problem problem{m, m, n};
    problem.dtype = dtype;
    json["dense"].push_back(
        {{"dtype", to_string(dtype)}, {"m", m}, {"n", n}, {"candidates", dense_terms(machine, problem)}});
  }
  json["dense_rates"] = Json::array();
  for (const DenseRate& rate : published.dense)
    json["dense_rates"].push_back(
        {{"dtype", to_string(rate.dtype)}, {"m", rate.m}, {"n", rate.n}, {"tflops", rate.tflops}});
  json["best_dense"] = Json::array();
  for (const BestRate& rate : published.best_dense)
    json["best_dense"].push_back({{"m", rate.m}, {"tflops", rate.tflops}});
  json["best"] = Json::array();
  for (const BestRate& rate : published.best) {
    Json row = {{"mode", to_string(rate.mode)},
                {"block", rate.block},
                {"m", rate.m},
                {"inverse_density", rate.inverse_density},
                {"tflops", rate.tflops},
                {"terms", Json::array()}};
    for (const std::int64_t n : kColumns) {
      const Problem problem{rate.m, rate.m, n, rate.block, 1.0 / static_cast<double>(rate.inverse_density)};
      const ipu::SparseChoice choice = ipu::plan_published(machine, problem, rate.mode);
      if (!choice.fits) continue;
      row["terms"].push_back({{"n", n},
                              {"terms", rate.mode == ipu::Mode::kStatic ? static_terms(choice.static_plan.cost)
                                                                        : Json(choice.raw_cycles())}});
    }
    json["best"].push_back(row);
  }
  json["clock_hz"] = machine.clock_hz;
  return json;
}

}  // namespace espalier::bench
