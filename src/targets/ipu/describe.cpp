#include "targets/ipu/describe.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace espalier::ipu {
namespace {

using Json = nlohmann::ordered_json;

Json pass_json(const PassCost& cost) {
  return {{"transpose", cost.transpose},
          {"x_exchange", cost.x_exchange},
          {"bucket_exchange", cost.bucket_exchange},
          {"zero", cost.zero},
          {"compute", cost.compute},
          {"propagation", cost.propagation},
          {"partial_exchange", cost.partial_exchange},
          {"reduce", cost.reduce}};
}

Json static_json(const StaticChoice& choice) {
  const StaticCost& cost = choice.cost;
  return {{"kind", "static"},
          {"n_splits", cost.splits},
          {"k_bands", cost.bands},
          {"tile_grain", choice.rules.grain},
          {"busiest_tile",
           {{"n_columns", cost.split_columns},
            {"band_columns", cost.band_columns},
            {"tiles_of_band", cost.tiles},
            {"blocks", cost.blocks},
            {"rows", cost.rows},
            {"x_rows", cost.x_rows},
            {"index_words", cost.list_words}}},
          {"partials_per_output", cost.sources},
          {"raw_cycles",
           {{"x_exchange", cost.x_exchange},
            {"value_exchange", cost.value_exchange},
            {"zero", cost.zero},
            {"compute", cost.compute},
            {"partial_exchange", cost.partial_exchange},
            {"reduce", cost.reduce},
            {"final_move", cost.final_move}}}};
}

Json dynamic_json(const SparseChoice& choice) {
  const DynamicCost& cost = choice.dynamic_plan.cost;
  Json raw = {{"forward", pass_json(cost.forward)}};
  if (choice.dynamic_options.passes == Passes::kForwardAndTransposed) raw["transposed"] = pass_json(cost.transposed);
  return {{"kind", "dynamic"},
          {"grid", {cost.grid.x, cost.grid.y, cost.grid.z}},
          {"bucket", {{"blocks", cost.bucket.blocks}, {"words", cost.bucket.words}}},
          {"oversize", choice.dynamic_options.oversize},
          {"raw_cycles", raw}};
}

}  // namespace

void describe(const DensePlan& plan, Estimate& estimate) {
  estimate.plan = fmt::format("dense: {} x {} x {} parts of m, k and n{}", plan.m_parts, plan.k_parts, plan.n_parts,
                              plan.passes > 1 ? fmt::format(", in {} passes over n", plan.passes) : "");
  const Json json = {{"kind", "dense"}, {"parts", {plan.m_parts, plan.k_parts, plan.n_parts}}, {"passes", plan.passes}};
  estimate.plan_json = json.dump();
}

void describe(const SparseChoice& choice, Estimate& estimate) {
  Json json;
  if (choice.is_static) {
    const StaticCost& cost = choice.static_plan.cost;
    estimate.plan = fmt::format(
        "static ({}): {} n splits, {} k bands; the busiest tile has {} blocks in {} rows over {} columns of n",
        choice.variant, cost.splits, cost.bands, cost.blocks, cost.rows, cost.split_columns);
    json = static_json(choice.static_plan);
  } else {
    const DynamicCost& cost = choice.dynamic_plan.cost;
    estimate.plan =
        fmt::format("dynamic ({}): grid {} x {} x {} over m, k and n; buckets of {} blocks and {} words",
                    choice.variant, cost.grid.x, cost.grid.y, cost.grid.z, cost.bucket.blocks, cost.bucket.words);
    json = dynamic_json(choice);
  }
  json["variant"] = choice.variant;
  json["block"] = choice.block;
  estimate.plan_json = json.dump();
}

}  // namespace espalier::ipu
