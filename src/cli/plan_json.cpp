#include "plan_json.hpp"

namespace espalier::cli {

Json known_ms(double ms) { return ms < 0 ? Json() : Json(ms); }

Json layers_json(const PlanReport& report) {
  Json layers = Json::array();
  for (const LayerReport& layer : report.layers) {
    Json rejected = Json::array();
    for (const RejectedKernel& kernel : layer.rejected)
      rejected.push_back({{"kernel", kernel.kernel}, {"reason", kernel.reason}, {"ms", known_ms(kernel.ms)}});
    layers.push_back({{"name", layer.name},
                      {"op", layer.op},
                      {"pattern", layer.pattern},
                      {"density", layer.density},
                      {"kernel", layer.kernel},
                      {"reason", layer.reason},
                      {"rejected", std::move(rejected)},
                      {"predicted_ms", known_ms(layer.predicted_ms)},
                      {"measured_ms", known_ms(layer.measured_ms)},
                      {"dense_ms", known_ms(layer.dense_ms)}});
  }
  return layers;
}

Json conversions_json(const PlanReport& report) {
  Json conversions = Json::array();
  for (const ConversionReport& conversion : report.conversions)
    conversions.push_back({{"value", conversion.value},
                           {"from", conversion.from},
                           {"to", conversion.to},
                           {"ms", known_ms(conversion.ms)}});
  return conversions;
}

}  // namespace espalier::cli
