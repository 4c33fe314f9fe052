// Writing Plan files.
#include <algorithm>
#include <cstring>
#include <espalier/files.hpp>
#include <espalier/version.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include <xxhash.h>

#include "base/fail.hpp"
#include "plan/compact_constant.hpp"
#include "plan/graph_json.hpp"
#include "plan/layer_options.hpp"
#include "plan/plan_file.hpp"
#include "plan/plan_state.hpp"

namespace espalier::plan {

std::string hash_bytes(const void* data, std::size_t bytes) { return fmt::format("{:016x}", XXH3_64bits(data, bytes)); }

std::string kept_key(const std::string& key) { return key + ".kept"; }

PackedKeys packed_keys(int node, int rows) {
  const std::string base = fmt::format("packed.{}.{}.", node, rows);
  return {base + "starts", base + "columns", base + "values", base + "bias"};
}

namespace {

using Json = nlohmann::json;
constexpr std::size_t kPadding = 64;

class Writer {
 public:
  // A key that is there already is left alone: several instruction sets share what they pack alike.
  void add(const std::string& key, const Tensor& tensor, bool hashed) {
    if (tensors_.contains(key)) return;
    Json entry{{"dtype", to_string(tensor.dtype())}, {"shape", tensor.shape()}};
    if (hashed) entry["xxh3"] = hash_bytes(tensor.raw(), tensor.bytes());
    put(key, std::move(entry), tensor);
  }

  // A constant in its most compact form; of one that was released, only what it was.
  void add_constant(const std::string& key, const Tensor& tensor, ZeroSign sign) {
    Json entry{{"dtype", to_string(tensor.dtype())}, {"shape", tensor.shape()}};
    if (is_released(tensor)) {
      entry["released"] = true;
      tensors_[key] = std::move(entry);
      return;
    }
    const CompactConstant compact = compact_constant(tensor, sign);
    if (compact.values.dtype() != tensor.dtype()) entry["stored"] = to_string(compact.values.dtype());
    if (compact.kept.defined()) {
      entry["run"] = compact.run;
      entry["values"] = compact.values.count();
      add(kept_key(key), compact.kept, true);
    }
    put(key, std::move(entry), compact.values);
  }

  Status write(Json description, const std::string& path) {
    description["tensors"] = std::move(tensors_);
    const std::string text = description.dump(-1, ' ', false, Json::error_handler_t::replace);
    contents_.metadata[std::string(kDescriptionKey)] = text;
    contents_.metadata[std::string(kDescriptionHashKey)] = hash_bytes(text.data(), text.size());
    return write_safetensors(path, contents_);
  }

 private:
  void put(const std::string& key, Json entry, const Tensor& tensor) {
    const std::size_t padded = (tensor.bytes() + kPadding - 1) / kPadding * kPadding;
    const DType type = tensor.dtype() == DType::kBf16 ? DType::kBf16 : DType::kU8;
    Tensor flat(type, {static_cast<std::int64_t>(padded / size_of(type))});
    if (tensor.bytes() != 0) std::memcpy(flat.raw(), tensor.raw(), tensor.bytes());
    tensors_[key] = std::move(entry);
    contents_.tensors.push_back({key, std::move(flat)});
  }

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

// Of the constants that products alone read, as weights.
std::set<std::string> weight_keys(const Graph& graph) {
  std::set<ValueId> weights, others(graph.outputs.begin(), graph.outputs.end());
  for (const Node& node : graph.nodes)
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      (is_product(node) && i == 1 ? weights : others).insert(node.inputs[i]);
  std::set<std::string> keys;
  for (const ValueId value : weights)
    if (!others.contains(value)) keys.insert(constant_key(value));
  return keys;
}

// Constants that the first Plan released and another still holds.
std::map<std::string, Tensor> constants_of_others(std::span<const Plan> plans) {
  std::map<std::string, Tensor> found;
  const Graph& first = plans[0].state().graph;
  for (ValueId id = 0; id < first.value_count(); ++id) {
    if (!first.is_constant(id) || !is_released(first.value(id).constant)) continue;
    for (const Plan& other : plans.subspan(1))
      if (const Tensor& constant = other.state().graph.value(id).constant; !is_released(constant))
        found.emplace(constant_key(id), constant);
  }
  return found;
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

Json choice_to_json(const PlanState& state, std::size_t node, Writer& writer) {
  const ProductChoice& choice = state.choices[node];
  Json entry{{"family", family_name(choice.family)},
             {"pattern", to_string(state.patterns[node].pattern)},
             {"density", state.patterns[node].density}};
  if (choice.dtype != DType::kF32) entry["dtype"] = to_string(choice.dtype);
  if (choice.family == ProductChoice::Family::kProduct) entry["kernel"] = choice.product;
  if (choice.family != ProductChoice::Family::kPlanar) return entry;
  entry["kernel"] = choice.planar.name();
  const int rows = choice.planar.kernel->rows;
  const conv::PackedConv packed = state.weights().planar(static_cast<int>(node), rows);
  const ValueId weights = state.graph.nodes[node].input(1);
  if (!packed.values.defined() || !is_released(state.graph.value(weights).constant)) return entry;
  const PackedKeys keys = packed_keys(static_cast<int>(node), rows);
  entry["packed"] = {{"out_channels", packed.out_channels},
                     {"in_channels", packed.in_channels},
                     {"taps", packed.taps},
                     {"rows", packed.rows},
                     {"cols", packed.cols}};
  writer.add(keys.starts, packed.starts, true);
  writer.add(keys.columns, packed.columns, true);
  writer.add(keys.values, packed.values, false);
  writer.add(keys.bias, packed.bias, false);
  return entry;
}

// What differs between the instruction sets that a Plan holds.
Json variant_to_json(const PlanState& state, Writer& writer) {
  Json choices = Json::array();
  for (std::size_t node = 0; node < state.choices.size(); ++node)
    choices.push_back(choice_to_json(state, node, writer));
  return {{"isa", to_string(state.settings.isa)}, {"slice", state.slice},
          {"teams", state.settings.teams},        {"spread_arena", state.settings.arena == ArenaUse::kSpread},
          {"choices", std::move(choices)},        {"report", report_to_json(state.report)}};
}

// Whether two states are of one network, planned for the same shapes and type.
bool is_variant(const PlanState& a, const PlanState& b) {
  const auto same_node = [](const Node& x, const Node& y) {
    return x.op == y.op && x.name == y.name && x.inputs == y.inputs && x.outputs == y.outputs;
  };
  const auto same_port = [](const TensorInfo& x, const TensorInfo& y) {
    return x.name == y.name && x.planned == y.planned;
  };
  return a.graph.value_count() == b.graph.value_count() && a.settings.dtype == b.settings.dtype &&
         a.settings.packing == b.settings.packing && a.settings.weights == b.settings.weights &&
         std::equal(a.graph.nodes.begin(), a.graph.nodes.end(), b.graph.nodes.begin(), b.graph.nodes.end(),
                    same_node) &&
         std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(), same_port);
}

Status check_variants(std::span<const Plan> plans) {
  if (plans.empty()) return fail(ErrorCode::kInvalidArgument, "save_plan: there is no Plan to write");
  const PlanState& first = plans[0].state();
  if (plans.size() > 1 && first.settings.packing == Packing::kPortable)
    return fail(ErrorCode::kInvalidArgument,
                "a portable Plan is packed when it is loaded, for any instruction set: it takes one, not {}",
                plans.size());
  std::set<Isa> seen;
  for (const Plan& plan : plans) {
    if (!is_variant(first, plan.state()))
      return fail(ErrorCode::kInvalidArgument, "Plans '{}' and '{}' differ in more than the instruction set",
                  plans[0].name(), plan.name());
    if (!seen.insert(plan.state().settings.isa).second)
      return fail(ErrorCode::kInvalidArgument, "two of the Plans are for {}", to_string(plan.state().settings.isa));
  }
  return {};
}

}  // namespace

}  // namespace espalier::plan

namespace espalier {

Status save_plan(const Plan& plan, const std::string& path) { return save_plan(std::span(&plan, 1), path); }

Status save_plan(std::span<const Plan> plans, const std::string& path) {
  ESPALIER_TRY(plan::check_variants(plans));
  const plan::PlanState& state = plans[0].state();
  plan::Writer writer;
  plan::Json description{{"format", plan::kPlanFormat},
                         {"library", ESPALIER_VERSION_STRING},
                         {"packing", state.settings.packing == Packing::kNative ? "native" : "portable"},
                         {"features", feature_names(machine_features())},
                         {"threads", state.settings.threads},
                         {"dtype", to_string(state.settings.dtype)},
                         {"dense", state.settings.weights == WeightUse::kDense}};
  const std::set<std::string> weights = plan::weight_keys(state.graph);
  const std::map<std::string, Tensor> whole_elsewhere = plan::constants_of_others(plans);
  description["graph"] = plan::graph_to_json(state.graph, [&](const std::string& key, const Tensor& tensor) {
    const auto whole = whole_elsewhere.find(key);
    writer.add_constant(key, whole == whole_elsewhere.end() ? tensor : whole->second,
                        weights.contains(key) ? plan::ZeroSign::kDrop : plan::ZeroSign::kKeep);
  });
  description["variants"] = plan::Json::array();
  for (const Plan& plan : plans) description["variants"].push_back(plan::variant_to_json(plan.state(), writer));
  plan::Json shapes = plan::Json::array();
  for (const TensorInfo& input : state.inputs) shapes.push_back(input.planned);
  description["planned"] = std::move(shapes);
  return writer.write(std::move(description), path);
}

}  // namespace espalier
