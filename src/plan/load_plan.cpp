// Reading Plan files. Everything that decides where memory is touched is checked; weight values are mapped and left
// alone.
#include <algorithm>
#include <espalier/executor.hpp>
#include <espalier/files.hpp>
#include <nlohmann/json.hpp>

#include "base/fail.hpp"
#include "plan/bind_shapes.hpp"
#include "plan/compact_constant.hpp"
#include "plan/graph_json.hpp"
#include "plan/make_plan.hpp"
#include "plan/plan_file.hpp"
#include "plan/plan_state.hpp"

namespace espalier::plan {
namespace {

using Json = nlohmann::json;

tl::unexpected<Error> damaged(const std::string& path, std::string_view what) {
  return fail(ErrorCode::kInvalidData, "{}: {}; compile the model again: espalier compile MODEL.onnx -o {}", path, what,
              path);
}

// The description and the tensors by key.
class Reader {
 public:
  static Result<Reader> open(const std::string& path) {
    ESPALIER_ASSIGN(Safetensors file, read_safetensors(path));
    const auto text = file.metadata.find(std::string(kDescriptionKey));
    const auto hash = file.metadata.find(std::string(kDescriptionHashKey));
    if (text == file.metadata.end() || hash == file.metadata.end())
      return fail(ErrorCode::kInvalidData, "{}: expected a Plan, found a safetensors file without one", path);
    if (hash_bytes(text->second.data(), text->second.size()) != hash->second)
      return damaged(path, "the description was changed after it was written");
    Reader reader;
    reader.path_ = path;
    reader.description = Json::parse(text->second);
    for (NamedTensor& tensor : file.tensors) reader.tensors_.emplace(tensor.name, std::move(tensor.tensor));
    return reader;
  }

  // A tensor as it is stored.
  Result<Tensor> fetch(const std::string& key) const {
    const Json& entry = description.at("tensors").at(key);
    ESPALIER_ASSIGN(const DType dtype, parse_dtype(entry.at("dtype").get<std::string>()));
    return fetch(key, entry, dtype, entry.at("shape").get<Shape>());
  }

  // A constant of the graph, whole; of a released one its type and shape.
  Result<Tensor> fetch_constant(const std::string& key) const {
    const Json& entry = description.at("tensors").at(key);
    ESPALIER_ASSIGN(const DType dtype, parse_dtype(entry.at("dtype").get<std::string>()));
    const Shape shape = entry.at("shape").get<Shape>();
    ESPALIER_ASSIGN(const std::int64_t count, checked_element_count(shape));
    if (entry.contains("released")) return Tensor::view(dtype, shape, static_cast<const void*>(nullptr));
    if (!entry.contains("stored") && !entry.contains("run")) return fetch(key, entry, dtype, shape);
    CompactConstant compact;
    DType stored = dtype;
    if (entry.contains("stored")) {
      ESPALIER_ASSIGN(stored, parse_dtype(entry["stored"].get<std::string>()));
    }
    std::int64_t values = count;
    if (entry.contains("run")) {
      compact.run = entry["run"].get<std::int64_t>();
      values = entry.at("values").get<std::int64_t>();
      ESPALIER_ASSIGN(compact.kept, fetch(kept_key(key)));
      if (compact.kept.dtype() != DType::kU8) return damaged(path_, "tensor '" + kept_key(key) + "' is no mask");
    }
    ESPALIER_ASSIGN(compact.values, fetch(key, entry, stored, {values}));
    auto whole = expand_constant(compact, dtype, shape);
    if (!whole) return damaged(path_, "tensor '" + key + "': " + whole.error().message);
    return whole;
  }

  Json description;

 private:
  Result<Tensor> fetch(const std::string& key, const Json& entry, DType dtype, const Shape& shape) const {
    const auto found = tensors_.find(key);
    if (found == tensors_.end()) return damaged(path_, "tensor '" + key + "' is missing");
    ESPALIER_ASSIGN(const std::int64_t count, checked_element_count(shape));
    const Tensor& flat = found->second;
    if (count > static_cast<std::int64_t>(flat.bytes() / size_of(dtype)))
      return damaged(path_, fmt::format("tensor '{}' holds {} bytes, its shape {} needs more", key, flat.bytes(),
                                        espalier::to_string(shape)));
    const Tensor tensor = Tensor::shared(dtype, shape, std::shared_ptr<const void>(keep(flat), flat.raw()));
    if (entry.contains("xxh3") && hash_bytes(tensor.raw(), tensor.bytes()) != entry["xxh3"].get<std::string>())
      return damaged(path_, "tensor '" + key + "' was changed after it was written");
    return tensor;
  }

  // An owner of the mapping that `flat` shares.
  static std::shared_ptr<const Tensor> keep(const Tensor& flat) { return std::make_shared<const Tensor>(flat); }

  std::string path_;
  std::map<std::string, Tensor> tensors_;
};

PlanReport report_from_json(const Json& json) {
  PlanReport report;
  for (const Json& one : json.at("layers")) {
    LayerReport layer;
    layer.name = one.at("name").get<std::string>();
    layer.op = one.at("op").get<std::string>();
    layer.pattern = one.at("pattern").get<std::string>();
    layer.density = one.at("density").get<double>();
    layer.kernel = one.at("kernel").get<std::string>();
    layer.reason = one.at("reason").get<std::string>();
    for (const Json& other : one.at("rejected"))
      layer.rejected.push_back(
          {other.at("kernel").get<std::string>(), other.at("reason").get<std::string>(), other.at("ms").get<double>()});
    layer.predicted_ms = one.at("predicted_ms").get<double>();
    layer.measured_ms = one.at("measured_ms").get<double>();
    layer.dense_ms = one.at("dense_ms").get<double>();
    report.layers.push_back(std::move(layer));
  }
  for (const Json& one : json.at("conversions"))
    report.conversions.push_back({one.at("value").get<std::string>(), one.at("from").get<std::string>(),
                                  one.at("to").get<std::string>(), one.at("ms").get<double>()});
  report.fixed_ms = json.at("fixed_ms").get<double>();
  report.compile_ms = json.at("compile_ms").get<double>();
  report.weight_bytes = json.at("weight_bytes").get<std::int64_t>();
  report.arena_bytes = json.at("arena_bytes").get<std::int64_t>();
  return report;
}

// The variant for the highest instruction set that may be used here.
Result<Json> choose_variant(const Json& description, Isa ceiling, const std::string& path) {
  const Json* best = nullptr;
  Isa best_isa = Isa::kScalar;
  std::string held;
  for (const Json& variant : description.at("variants")) {
    ESPALIER_ASSIGN(const Isa isa, parse_isa(variant.at("isa").get<std::string>()));
    held += fmt::format("{}{}", held.empty() ? "" : " and ", to_string(isa));
    if (isa > ceiling || (best != nullptr && isa <= best_isa)) continue;
    best = &variant;
    best_isa = isa;
  }
  if (best != nullptr) return *best;
  const std::vector<std::string> here = feature_names(machine_features());
  std::string missing;
  for (const Json& feature : description.at("features")) {
    const std::string name = feature.get<std::string>();
    if (std::find(here.begin(), here.end(), name) == here.end()) missing += " " + name;
  }
  return fail(ErrorCode::kUnsupported,
              "{}: planned for {}, but {} is the highest that may be used here{}{}; compile the model again on this "
              "machine, with --isa and a list, or with --portable",
              path, held.empty() ? "nothing" : held, to_string(ceiling), missing.empty() ? "" : "; this machine lacks",
              missing);
}

Result<ProductChoice> choice_from_json(const Json& json, const std::string& path) {
  ProductChoice choice;
  if (json.contains("dtype")) {
    ESPALIER_ASSIGN(choice.dtype, parse_dtype(json["dtype"].get<std::string>()));
    if (choice.dtype != DType::kF32 && choice.dtype != DType::kBf16)
      return damaged(path, "no kernel multiplies in " + std::string(to_string(choice.dtype)));
  }
  const std::string family = json.at("family").get<std::string>();
  if (family == "dense") {
    choice.family = ProductChoice::Family::kDense;
    if (choice.dtype == DType::kBf16 && !ops::dense_offers_bf16())
      return fail(ErrorCode::kUnsupported,
                  "{}: dense layers were planned in bf16, which needs avx512_bf16 and the instruction set vnni here; "
                  "compile the model again on this machine, or with --portable",
                  path);
  } else if (family == "planar") {
    choice.family = ProductChoice::Family::kPlanar;
    const std::string kernel = json.at("kernel").get<std::string>();
    const auto parsed = conv::parse_choice(kernel);
    if (!parsed)
      return fail(ErrorCode::kUnsupported,
                  "{}: kernel {} is not in this build; compile the model again, or with --portable", path, kernel);
    choice.planar = *parsed;
    if (!conv::conv_kernel_runs(*parsed->kernel, active_isa(), offers_bf16_vectors(active_isa())))
      return fail(ErrorCode::kUnsupported,
                  "{}: kernel {} needs {}{}, which may not be used here; compile the model again on this machine, or "
                  "with --portable",
                  path, parsed->kernel->name, to_string(parsed->kernel->isa),
                  parsed->kernel->bf16_vectors ? " and avx512_bf16" : "");
  } else if (family == "product") {
    choice.family = ProductChoice::Family::kProduct;
    choice.product = json.at("kernel").get<std::string>();
  } else if (family != "operator") {
    return damaged(path, "unknown kind of kernel '" + family + "'");
  }
  return choice;
}

Status fetch_packed(const Reader& reader, const Json& json, int node, const ProductChoice& choice,
                    const PlanState& state) {
  conv::PackedConv packed;
  packed.out_channels = json.at("out_channels").get<std::int64_t>();
  packed.in_channels = json.at("in_channels").get<std::int64_t>();
  packed.taps = json.at("taps").get<std::int64_t>();
  packed.rows = json.at("rows").get<int>();
  packed.cols = json.at("cols").get<int>();
  const PackedKeys keys = packed_keys(node, choice.planar.kernel->rows);
  ESPALIER_ASSIGN(packed.starts, reader.fetch(keys.starts));
  ESPALIER_ASSIGN(packed.columns, reader.fetch(keys.columns));
  ESPALIER_ASSIGN(packed.values, reader.fetch(keys.values));
  ESPALIER_ASSIGN(packed.bias, reader.fetch(keys.bias));
  ESPALIER_TRY(conv::validate(packed));
  state.weights().keep_planar(node, choice.planar.kernel->rows, packed);
  return {};
}

// A released constant is the weights of nodes with packed ones, and nothing else.
Status check_released(const Graph& graph, const Json& choices, const std::string& path) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const bool packed = i < choices.size() && choices[i].contains("packed") && node.op == "Conv";
    for (std::size_t input = 0; input < node.inputs.size(); ++input) {
      const ValueId value = node.inputs[input];
      if (value == kNoValue || !graph.is_constant(value) || !is_released(graph.value(value).constant)) continue;
      if (packed && input == 1) continue;
      return damaged(path, "the weights of " + describe(node) + " are missing");
    }
  }
  for (const ValueId output : graph.outputs)
    if (graph.is_constant(output) && is_released(graph.value(output).constant))
      return damaged(path, "output '" + graph.value(output).name + "' is missing");
  return {};
}

Result<std::vector<Shape>> planned_shapes(const Json& description, const Graph& graph, const std::string& path) {
  auto shapes = description.at("planned").get<std::vector<Shape>>();
  if (shapes.size() != graph.inputs.size()) return damaged(path, "the planned shapes do not match the inputs");
  return shapes;
}

Result<Plan> load_portable(Graph graph, const std::vector<Shape>& shapes, const PlanSettings& settings) {
  CompileOptions options;
  options.threads = settings.threads;
  options.isa = settings.isa;
  options.dtype = settings.dtype;
  options.weights = settings.weights;
  options.packing = Packing::kPortable;
  options.tuning = Tuning::kModel;
  for (std::size_t i = 0; i < shapes.size(); ++i) options.shapes.emplace(graph.value(graph.inputs[i]).name, shapes[i]);
  return make_plan(std::move(graph), options);
}

Result<Plan> read_plan(const std::string& path, const LoadPlanOptions& options) {
  ESPALIER_ASSIGN(const Reader reader, Reader::open(path));
  const Json& description = reader.description;
  if (const int format = description.at("format").get<int>(); format != kPlanFormat)
    return damaged(path, fmt::format("expected format {}, found {}", kPlanFormat, format));
  PlanSettings settings;
  settings.isa = std::min(options.isa.value_or(active_isa()), active_isa());
  settings.threads = std::min(description.at("threads").get<int>(), available_cores());
  if (options.threads > 0) settings.threads = options.threads;
  ESPALIER_ASSIGN(settings.dtype, parse_dtype(description.at("dtype").get<std::string>()));
  settings.weights = description.at("dense").get<bool>() ? WeightUse::kDense : WeightUse::kSparse;
  const FetchTensor fetch = [&](const std::string& key) { return reader.fetch_constant(key); };
  ESPALIER_ASSIGN(Graph graph, graph_from_json(description.at("graph"), fetch));
  ESPALIER_ASSIGN(const std::vector<Shape> shapes, planned_shapes(description, graph, path));
  if (description.at("packing").get<std::string>() == "portable") {
    ESPALIER_TRY(check_released(graph, Json::array(), path));
    return load_portable(std::move(graph), shapes, settings);
  }

  ESPALIER_ASSIGN(const Json variant, choose_variant(description, settings.isa, path));
  ESPALIER_ASSIGN(settings.isa, parse_isa(variant.at("isa").get<std::string>()));
  auto state = std::make_shared<PlanState>();
  state->settings = settings;
  state->graph = std::move(graph);
  if (variant.value("teams", 1) > 1) state->settings.teams = state->settings.threads;
  if (variant.value("spread_arena", false)) state->settings.arena = ArenaUse::kSpread;
  state->slice = std::max<std::int64_t>(0, variant.at("slice").get<std::int64_t>());
  const Json& choices = variant.at("choices");
  ESPALIER_TRY(check_released(state->graph, choices, path));
  if (choices.size() != state->graph.nodes.size()) return damaged(path, "the choices do not match the nodes");
  for (std::size_t i = 0; i < choices.size(); ++i) {
    ESPALIER_ASSIGN(ProductChoice choice, choice_from_json(choices[i], path));
    ESPALIER_ASSIGN(const Pattern pattern, parse_pattern(choices[i].at("pattern").get<std::string>()));
    state->patterns.push_back({pattern, choices[i].at("density").get<double>()});
    if (choices[i].contains("packed"))
      ESPALIER_TRY(fetch_packed(reader, choices[i]["packed"], static_cast<int>(i), choice, *state));
    state->choices.push_back(choice);
  }
  state->report = report_from_json(variant.at("report"));
  ESPALIER_TRY(finish_plan(*state, shapes));
  state->release_packed_constants();
  return Plan(std::move(state));
}

}  // namespace
}  // namespace espalier::plan

namespace espalier {

Result<Plan> load_plan(const std::string& path, const LoadPlanOptions& options) {
  try {
    return plan::read_plan(path, options);
  } catch (const nlohmann::json::exception& error) {
    return plan::damaged(path, fmt::format("its description is incomplete ({})", error.what()));
  }
}

}  // namespace espalier
