#include "cases.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <espalier/onnx.hpp>
#include <espalier/ops.hpp>
#include <espalier/passes.hpp>
#include <espalier/runtime.hpp>
#include <optional>

#include "base/fail.hpp"
#include "interpreter.hpp"
#include "onnx/tensor_proto.hpp"

namespace espalier::conformance {
namespace {

// The operators that every build runs: their cases may not be skipped.
constexpr std::array<std::string_view, 108> kRequired = {"Abs",
                                                         "Add",
                                                         "And",
                                                         "ArgMax",
                                                         "ArgMin",
                                                         "AveragePool",
                                                         "BatchNormalization",
                                                         "Cast",
                                                         "Ceil",
                                                         "Clip",
                                                         "Concat",
                                                         "Constant",
                                                         "ConstantOfShape",
                                                         "Conv",
                                                         "ConvInteger",
                                                         "Cos",
                                                         "DequantizeLinear",
                                                         "Div",
                                                         "Dropout",
                                                         "DynamicQuantizeLinear",
                                                         "Elu",
                                                         "Equal",
                                                         "Erf",
                                                         "Exp",
                                                         "Expand",
                                                         "Flatten",
                                                         "Floor",
                                                         "Gather",
                                                         "Gelu",
                                                         "Gemm",
                                                         "GlobalAveragePool",
                                                         "GlobalMaxPool",
                                                         "Greater",
                                                         "GreaterOrEqual",
                                                         "HardSigmoid",
                                                         "HardSwish",
                                                         "Identity",
                                                         "LRN",
                                                         "LayerNormalization",
                                                         "LeakyRelu",
                                                         "Less",
                                                         "LessOrEqual",
                                                         "Log",
                                                         "LogSoftmax",
                                                         "MatMul",
                                                         "MatMulInteger",
                                                         "Max",
                                                         "MaxPool",
                                                         "Mean",
                                                         "Min",
                                                         "Mish",
                                                         "Mod",
                                                         "Mul",
                                                         "Neg",
                                                         "Not",
                                                         "Or",
                                                         "PRelu",
                                                         "Pad",
                                                         "Pow",
                                                         "QLinearConv",
                                                         "QLinearMatMul",
                                                         "QuantizeLinear",
                                                         "Range",
                                                         "Reciprocal",
                                                         "ReduceL1",
                                                         "ReduceL2",
                                                         "ReduceLogSum",
                                                         "ReduceLogSumExp",
                                                         "ReduceMax",
                                                         "ReduceMean",
                                                         "ReduceMin",
                                                         "ReduceProd",
                                                         "ReduceSum",
                                                         "ReduceSumSquare",
                                                         "Relu",
                                                         "Reshape",
                                                         "Round",
                                                         "Selu",
                                                         "Shape",
                                                         "Sigmoid",
                                                         "Sign",
                                                         "Sin",
                                                         "Size",
                                                         "Slice",
                                                         "Softmax",
                                                         "Softplus",
                                                         "Softsign",
                                                         "Split",
                                                         "Sqrt",
                                                         "Squeeze",
                                                         "Sub",
                                                         "Sum",
                                                         "Tanh",
                                                         "ThresholdedRelu",
                                                         "Transpose",
                                                         "Unsqueeze",
                                                         "Where",
                                                         "Xor",
                                                         "Celu",
                                                         "Tan",
                                                         "Atan",
                                                         "Asin",
                                                         "Acos",
                                                         "Sinh",
                                                         "Cosh",
                                                         "Asinh",
                                                         "Acosh",
                                                         "Atanh"};

// Older models are refused, each operator by its own version.
constexpr std::int64_t kFirstOpset = 7;

bool is_required(const Node& node) {
  return node.domain.empty() && std::find(kRequired.begin(), kRequired.end(), node.op) != kRequired.end();
}

// Random numbers of a training graph cannot be compared.
bool is_training(const Graph& graph, const Node& node) {
  if (node.op == "BatchNormalization") return node.int_or("training_mode", 0) != 0 || node.outputs.size() > 1;
  return node.op == "Dropout" && node.inputs.size() > 2 && !graph.is_constant(node.inputs[2]);
}

std::optional<Outcome> check_operators(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (is_training(graph, node)) return Outcome{Outcome::kSkipped, "training"};
  const auto unsupported = unsupported_operators(graph);
  if (unsupported.empty()) return std::nullopt;
  if (const auto opset = graph.opsets.find(""); opset != graph.opsets.end() && opset->second < kFirstOpset)
    return Outcome{Outcome::kSkipped, fmt::format("opset {} of operator {}", opset->second, unsupported[0].op)};
  const auto missing = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return std::any_of(unsupported.begin(), unsupported.end(),
                       [&](const UnsupportedNode& u) { return u.op == node.op; }) &&
           is_required(node);
  });
  const bool all_required = std::all_of(graph.nodes.begin(), graph.nodes.end(), is_required);
  if (missing != graph.nodes.end() && all_required)
    return Outcome{Outcome::kFailed, unsupported[0].op + ": " + unsupported[0].reason};
  return Outcome{Outcome::kSkipped, "operator " + unsupported[0].op};
}

bool is_float64(const Value& value) { return value.dtype == DType::kF64; }

std::optional<Outcome> check_types(const Graph& graph) {
  for (const auto* list : {&graph.inputs, &graph.outputs})
    for (const ValueId id : *list) {
      if (!graph.value(id).dtype) return Outcome{Outcome::kSkipped, "type"};
      if (is_float64(graph.value(id))) return Outcome{Outcome::kSkipped, "type f64"};
    }
  return std::nullopt;
}

// The data hold bf16 as the u16 of their bits.
Tensor as_declared(Tensor tensor, const Value& value) {
  if (value.dtype != DType::kBf16 || tensor.dtype() != DType::kU16) return tensor;
  const Tensor bits = tensor.clone();
  Tensor result = Tensor::uninitialized(DType::kBf16, bits.shape());
  std::memcpy(result.raw(), bits.raw(), bits.bytes());
  return result;
}

Result<std::vector<Tensor>> read_tensors(const std::filesystem::path& folder, const std::string& kind,
                                         const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::filesystem::path path = folder / (kind + "_" + std::to_string(i) + ".pb");
    ESPALIER_ASSIGN(NamedTensor named, onnx_io::load_tensor_proto(path.string()));
    tensors.push_back(as_declared(std::move(named.tensor), graph.value(values[i])));
  }
  return tensors;
}

std::string compare(const Graph& graph, const std::vector<Tensor>& inputs, const std::vector<Tensor>& expected) {
  const auto found = interpret(graph, inputs);
  if (!found) return found.error().message;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string text = difference((*found)[i], expected[i]);
    if (!text.empty()) return "output " + std::to_string(i) + ": " + text;
  }
  return {};
}

bool fits(const SymbolicShape& declared, const Shape& shape) {
  if (!declared.ranked) return true;
  if (declared.dims.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (declared.dims[i].known() && declared.dims[i].size != shape[i]) return false;
  return true;
}

// As users run it: planned by the model alone, executed with two threads.
std::string compare_session(const Graph& graph, const std::vector<Tensor>& inputs,
                            const std::vector<Tensor>& expected) {
  CompileOptions options{.threads = 2, .tuning = Tuning::kModel, .cache_dir = ""};
  std::vector<NamedTensor> named;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!fits(graph.value(graph.inputs[i]).shape, inputs[i].shape())) return {};  // the data contradict the model
    named.push_back({graph.value(graph.inputs[i]).name, inputs[i]});
    options.shapes.emplace(named.back().name, inputs[i].shape());
  }
  const auto plan = compile(graph, options);
  if (!plan) return plan.error().message;
  Session session(*plan);
  for (int run = 0; run < 2; ++run) {  // the second in memory that the first has used
    const auto found = session.run(named);
    if (!found) return found.error().message;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string text = difference((*found)[i].tensor, expected[i]);
      if (!text.empty()) return "output " + std::to_string(i) + ": " + text;
    }
  }
  return {};
}

}  // namespace

std::string difference(const Tensor& found, const Tensor& expected, double rtol, double atol) {
  if (!found.defined()) return "nothing was computed";
  if (found.dtype() != expected.dtype())
    return fmt::format("type {}, expected {}", to_string(found.dtype()), to_string(expected.dtype()));
  if (found.shape() != expected.shape())
    return fmt::format("shape {}, expected {}", to_string(found.shape()), to_string(expected.shape()));
  // The data cut a bf16 off where the conversion rounds.
  if (expected.dtype() == DType::kBf16) rtol = std::max(rtol, 1.0 / 128);
  const Tensor wide_found = found.cast(DType::kF64);
  const Tensor wide_expected = expected.cast(DType::kF64);
  const auto a = wide_found.values<double>();
  const auto b = wide_expected.values<double>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!(std::abs(a[i] - b[i]) <= atol + rtol * std::abs(b[i])))
      return fmt::format("element {} of {} is {}, expected {}", i, to_string(found.shape()), a[i], b[i]);
  }
  return {};
}

std::vector<std::filesystem::path> list_cases(const std::string& group) {
  std::vector<std::filesystem::path> cases;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(ESPALIER_ONNX_TESTDATA) / group, error))
    if (std::filesystem::exists(entry.path() / "model.onnx")) cases.push_back(entry.path());
  std::sort(cases.begin(), cases.end());
  return cases;
}

Outcome run_case(const std::filesystem::path& folder) {
  // Its expected values come from an output length of 2.4 pixels; the operator's text says 2.
  if (folder.filename() == "test_resize_downsample_scales_linear_align_corners")
    return {Outcome::kSkipped, "known fault of the data"};
  auto graph = load_onnx((folder / "model.onnx").string());
  if (!graph && graph.error().code == ErrorCode::kUnsupported) return {Outcome::kSkipped, "type"};
  if (!graph) return {Outcome::kFailed, graph.error().message};
  if (const auto outcome = check_types(*graph)) return *outcome;
  if (const auto outcome = check_operators(*graph)) return *outcome;

  Graph optimised = *graph;
  if (const Status status = run_default_passes(optimised); !status)
    return {Outcome::kFailed, "passes: " + status.error().message};
  for (int set = 0;; ++set) {
    const std::filesystem::path data = folder / ("test_data_set_" + std::to_string(set));
    if (!std::filesystem::exists(data)) return {set == 0 ? Outcome::kFailed : Outcome::kPassed, "no data"};
    const auto inputs = read_tensors(data, "input", *graph, graph->inputs);
    if (!inputs) return {Outcome::kFailed, inputs.error().message};
    const auto expected = read_tensors(data, "output", *graph, graph->outputs);
    if (!expected) return {Outcome::kFailed, expected.error().message};
    if (const std::string text = compare(*graph, *inputs, *expected); !text.empty()) return {Outcome::kFailed, text};
    if (const std::string text = compare(optimised, *inputs, *expected); !text.empty())
      return {Outcome::kFailed, "after the default passes: " + text};
    if (const std::string text = compare_session(*graph, *inputs, *expected); !text.empty())
      return {Outcome::kFailed, "through a Session: " + text};
  }
}

}  // namespace espalier::conformance
