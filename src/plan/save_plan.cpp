// Writing Plan files.
#include <cstring>
#include <espalier/files.hpp>
#include <espalier/version.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include <xxhash.h>

#include "base/fail.hpp"
#include "plan/graph_json.hpp"
#include "plan/plan_file.hpp"
#include "plan/plan_state.hpp"

namespace espalier::plan {

std::string hash_bytes(const void* data, std::size_t bytes) { return fmt::format("{:016x}", XXH3_64bits(data, bytes)); }

PackedKeys packed_keys(int node, int rows) {
  const std::string base = fmt::format("packed.{}.{}.", node, rows);
  return {base + "starts", base + "columns", base + "values", base + "bias"};
}

namespace {

using Json = nlohmann::json;
constexpr std::size_t kPadding = 64;

class Writer {
 public:
  void add(const std::string& key, const Tensor& tensor, bool hashed) {
    const std::size_t padded = (tensor.bytes() + kPadding - 1) / kPadding * kPadding;
    Tensor flat(DType::kU8, {static_cast<std::int64_t>(padded)});
    if (tensor.bytes() != 0) std::memcpy(flat.raw(), tensor.raw(), tensor.bytes());
    Json entry{{"dtype", to_string(tensor.dtype())}, {"shape", tensor.shape()}};
    if (hashed) entry["xxh3"] = hash_bytes(tensor.raw(), tensor.bytes());
    tensors_[key] = std::move(entry);
    contents_.tensors.push_back({key, std::move(flat)});
  }

  Status write(Json description, const std::string& path) {
    description["tensors"] = std::move(tensors_);
    const std::string text = description.dump(-1, ' ', false, Json::error_handler_t::replace);
    contents_.metadata[std::string(kDescriptionKey)] = text;
    contents_.metadata[std::string(kDescriptionHashKey)] = hash_bytes(text.data(), text.size());
    return write_safetensors(path, contents_);
  }

 private:
  Json tensors_ = Json::object();
  Safetensors contents_;
};

const char* family_name(ProductChoice::Family family) {
  switch (family) {
    case ProductChoice::Family::kOperator:
      return "operator";
    case ProductChoice::Family::kDense:
      return "dense";
    case ProductChoice::Family::kPlanar:
      return "planar";
    case ProductChoice::Family::kProduct:
      return "product";
  }
  return "?";
}

Json report_to_json(const PlanReport& report) {
  Json layers = Json::array();
  for (const LayerReport& layer : report.layers) {
    Json rejected = Json::array();
    for (const RejectedKernel& other : layer.rejected)
      rejected.push_back({{"kernel", other.kernel}, {"reason", other.reason}, {"ms", other.ms}});
    layers.push_back({{"name", layer.name},
                      {"op", layer.op},
                      {"pattern", layer.pattern},
                      {"density", layer.density},
                      {"kernel", layer.kernel},
                      {"reason", layer.reason},
                      {"rejected", std::move(rejected)},
                      {"predicted_ms", layer.predicted_ms},
                      {"measured_ms", layer.measured_ms},
                      {"dense_ms", layer.dense_ms}});
  }
  Json conversions = Json::array();
  for (const ConversionReport& one : report.conversions)
    conversions.push_back({{"value", one.value}, {"from", one.from}, {"to", one.to}, {"ms", one.ms}});
  return {{"layers", std::move(layers)},         {"conversions", std::move(conversions)},
          {"fixed_ms", report.fixed_ms},         {"compile_ms", report.compile_ms},
          {"weight_bytes", report.weight_bytes}, {"arena_bytes", report.arena_bytes}};
}

}  // namespace

}  // namespace espalier::plan

namespace espalier {

Status save_plan(const Plan& plan, const std::string& path) {
  using plan::ProductChoice;
  const plan::PlanState& state = plan.state();
  plan::Writer writer;
  const bool native = state.settings.packing == Packing::kNative;
  plan::Json description{{"format", plan::kPlanFormat},
                         {"library", ESPALIER_VERSION_STRING},
                         {"packing", native ? "native" : "portable"},
                         {"isa", to_string(state.settings.isa)},
                         {"features", feature_names(machine_features())},
                         {"threads", state.settings.threads},
                         {"dtype", to_string(state.settings.dtype)},
                         {"slice", state.slice},
                         {"dense", state.settings.weights == WeightUse::kDense}};
  description["graph"] = plan::graph_to_json(
      state.graph, [&](const std::string& key, const Tensor& tensor) { writer.add(key, tensor, false); });
  description["choices"] = plan::Json::array();
  for (std::size_t i = 0; i < state.choices.size(); ++i) {
    const ProductChoice& choice = state.choices[i];
    plan::Json entry{{"family", plan::family_name(choice.family)},
                     {"pattern", to_string(state.patterns[i].pattern)},
                     {"density", state.patterns[i].density}};
    if (choice.family == ProductChoice::Family::kProduct) entry["kernel"] = choice.product;
    if (choice.family == ProductChoice::Family::kPlanar) {
      entry["kernel"] = choice.planar.name();
      const int node = static_cast<int>(i), rows = choice.planar.kernel->rows;
      const conv::PackedConv packed = state.weights().planar(node, rows);
      if (native && packed.values.defined()) {
        const plan::PackedKeys keys = plan::packed_keys(node, rows);
        entry["packed"] = {{"out_channels", packed.out_channels},
                           {"in_channels", packed.in_channels},
                           {"taps", packed.taps},
                           {"rows", packed.rows},
                           {"cols", packed.cols}};
        writer.add(keys.starts, packed.starts, true);
        writer.add(keys.columns, packed.columns, true);
        writer.add(keys.values, packed.values, false);
        writer.add(keys.bias, packed.bias, false);
      }
    }
    description["choices"].push_back(std::move(entry));
  }
  plan::Json shapes = plan::Json::array();
  for (const TensorInfo& input : state.inputs) shapes.push_back(input.planned);
  description["planned"] = std::move(shapes);
  description["report"] = plan::report_to_json(state.report);
  return writer.write(std::move(description), path);
}

}  // namespace espalier
