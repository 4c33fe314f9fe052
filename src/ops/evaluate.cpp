// evaluate: one node on concrete tensors.
#include <cstdlib>
#include <memory>
#include <new>

#include <espalier/ops.hpp>

#include "ops/op.hpp"
#include "ops/rule.hpp"

namespace espalier {
namespace {

using ops::OpDef;

ops::ValueFacts facts_of(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  return {.dtype = tensor.dtype(), .shape = symbolic(tensor.shape()), .constant = tensor, .present = true};
}

bool omitted(const Node& node, std::size_t i) { return i < node.outputs.size() && node.outputs[i] == kNoValue; }

// Output 0 is always made; a node without a list of outputs has that one.
Result<std::vector<Tensor>> allocate_outputs(const Node& node, std::span<const ops::ValueFacts> facts) {
  std::vector<Tensor> outputs(facts.size());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (i > 0 && omitted(node, i)) continue;
    const auto shape = static_shape(facts[i].shape);
    if (!shape || !facts[i].dtype)
      return ops::fail_at(node, "the shape of output {} does not follow from the shapes of its inputs", i);
    outputs[i] = Tensor::uninitialized(*facts[i].dtype, *shape);
  }
  return outputs;
}

Result<std::vector<Tensor>> run(const OpDef& def, const Node& node, std::span<const Tensor> inputs,
                                Executor& executor) {
  std::span<const Tensor> operands = inputs;
  if (node.fusion.residual != kNoValue) {
    if (inputs.empty() || !inputs.back().defined())
      return ops::fail_at(node, "the fused residual is missing: it is passed as the last input");
    operands = inputs.first(inputs.size() - 1);
  }
  std::vector<ops::ValueFacts> input_facts;
  for (const Tensor& tensor : operands) input_facts.push_back(facts_of(tensor));
  std::vector<ops::ValueFacts> output_facts(std::max<std::size_t>(1, node.outputs.size()));
  ops::InferContext context{node, input_facts, output_facts};
  ESPALIER_TRY(ops::infer_op(def, context));
  ESPALIER_ASSIGN(std::vector<Tensor> outputs, allocate_outputs(node, output_facts));

  std::unique_ptr<std::byte, decltype(&std::free)> scratch(nullptr, &std::free);
  const std::size_t bytes = def.scratch_bytes != nullptr ? def.scratch_bytes(node, operands) : 0;
  if (bytes != 0) {
    scratch.reset(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
    if (!scratch) throw std::bad_alloc();
  }
  ESPALIER_TRY(ops::run_op(def, {node, inputs, outputs, executor, scratch.get()}));
  if (omitted(node, 0)) outputs[0] = Tensor();
  return outputs;
}

}  // namespace

Result<std::vector<Tensor>> evaluate(const Node& node, std::span<const Tensor> inputs, Executor& executor) {
  const OpDef* def = ops::find_op(node.op, node.domain);
  if (def == nullptr) return fail(ErrorCode::kUnsupported, "{}: unknown operator", describe(node));
  if (const std::string reason = ops::unsupported_reason(*def, node); !reason.empty())
    return fail(ErrorCode::kUnsupported, "{}: {}", describe(node), reason);
  try {
    return run(*def, node, inputs, executor);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kLimit, "{}: not enough memory for the outputs", describe(node));
  }
}

}  // namespace espalier
