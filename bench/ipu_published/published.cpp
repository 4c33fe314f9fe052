#include "ipu_published/published.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace espalier::bench {
namespace {

using Json = nlohmann::json;

Json read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return Json::parse(file);
}

ipu::Mode mode_of(const Json& row) { return row.at("mode") == "dynamic" ? ipu::Mode::kDynamic : ipu::Mode::kStatic; }
DType dtype_of_row(const Json& row) { return row.at("dtype") == "f32" ? DType::kF32 : DType::kF16; }

}  // namespace

Published read_published(const std::string& folder) {
  Published published;
  const Json grid = read(folder + "/static_grid.json");
  for (const Json& row : grid.at("rows"))
    for (std::size_t i = 0; i < grid.at("n").size(); ++i) {
      const Json& value = row.at("speedup").at(i);
      published.grid.push_back({row.at("block"), row.at("m"), grid.at("n").at(i), row.at("inverse_density"),
                                value.is_null() ? std::nullopt : std::optional(value.get<double>())});
    }
  const Json dense = read(folder + "/dense_curves.json");
  for (const Json& curve : dense.at("curves"))
    for (std::size_t i = 0; i < curve.at("n").size(); ++i)
      published.dense.push_back({dtype_of_row(curve), curve.at("m"), curve.at("n").at(i), curve.at("tflops").at(i)});
  const Json best = read(folder + "/best_n.json");
  for (const Json& row : best.at("f16"))
    published.best.push_back({mode_of(row), row.at("block"), row.at("m"), row.at("inverse_density"), row.at("tflops")});
  for (const Json& row : best.at("dense_f16"))
    published.best_dense.push_back({ipu::Mode::kDense, 1, row.at("m"), 1, row.at("tflops")});
  for (const Json& row : best.at("ratios_m4096_density_1_16"))
    published.ratios.push_back({mode_of(row), row.at("block"), dtype_of_row(row), row.at("speedup")});
  const Json& law = best.at("power_law_f16_static");
  published.law = {law.at("factor"), law.at("m"), law.at("density"), law.at("block")};
  return published;
}

}  // namespace espalier::bench
