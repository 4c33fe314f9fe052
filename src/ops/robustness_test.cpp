// Every operator under nonsense: random types, shapes, contents and attributes give a result or an error that names the
// node, never a crash. What a result says of itself must be true.
#include <gtest/gtest.h>

#include <espalier/ops.hpp>
#include <limits>
#include <random>

#include "ops/op.hpp"

namespace espalier::ops {
namespace {

class Nonsense {
 public:
  explicit Nonsense(unsigned seed) : generator_(seed) {}

  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(generator_() % static_cast<std::uint64_t>(limit));
  }

  // Mostly small, sometimes beyond anything sensible; nothing between, so that nothing large is really allocated.
  std::int64_t integer() {
    static constexpr std::int64_t kAbsurd[] = {std::numeric_limits<std::int64_t>::min(),
                                               std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 40,
                                               -(std::int64_t{1} << 40), std::int64_t{1} << 62};
    return below(25) == 0 ? kAbsurd[below(5)] : below(8) - 3;
  }

  std::vector<std::int64_t> integers() {
    std::vector<std::int64_t> list(static_cast<std::size_t>(below(6)));
    for (auto& value : list) value = below(3) == 0 ? integer() : below(3);
    return list;
  }

  Tensor tensor() {
    static constexpr DType kTypes[] = {DType::kF32, DType::kF32, DType::kF32, DType::kI64, DType::kI64, DType::kU8,
                                       DType::kI8,  DType::kF16, DType::kF64, DType::kI32, DType::kBool};
    return tensor(kTypes[below(11)]);
  }
  Tensor tensor(DType dtype) {
    static constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 1, 2, 3, 0};
    Shape shape(static_cast<std::size_t>(below(6)));
    for (auto& size : shape) size = kSizes[below(8)];
    return filled(dtype, shape);
  }
  Tensor filled(DType dtype, const Shape& shape) {
    Tensor wide(DType::kI64, shape);
    for (auto& value : wide.values<std::int64_t>()) value = dtype == DType::kI64 ? integer() : below(9) - 4;
    return wide.cast(dtype);
  }

  Attributes attributes() {
    static constexpr const char* kNumbers[] = {"axis",
                                               "keepdims",
                                               "group",
                                               "ceil_mode",
                                               "to",
                                               "fmod",
                                               "p",
                                               "size",
                                               "blocksize",
                                               "block_size",
                                               "num_outputs",
                                               "start",
                                               "end",
                                               "batch_dims",
                                               "num_groups",
                                               "transA",
                                               "transB",
                                               "upper",
                                               "k",
                                               "largest",
                                               "storage_order",
                                               "count_include_pad",
                                               "noop_with_empty_axes",
                                               "allowzero",
                                               "exclusive"};
    static constexpr const char* kLists[] = {"axes", "pads",  "strides", "dilations", "kernel_shape",
                                             "perm", "split", "starts",  "ends",      "value_ints"};
    static constexpr const char* kTexts[] = {"SAME_UPPER", "VALID", "reflect", "edge", "wrap",
                                             "linear",     "add",   "DCR",     "",     "?"};
    static constexpr const char* kTextKeys[] = {"auto_pad", "mode", "reduction", "nearest_mode",
                                                "coordinate_transformation_mode"};
    Attributes result;
    for (std::int64_t i = below(5); i > 0; --i) {
      if (below(2) == 0)
        result[kNumbers[below(std::ssize(kNumbers))]] = integer();
      else
        result[kLists[below(std::ssize(kLists))]] = integers();
    }
    if (below(4) == 0) result[kTextKeys[below(5)]] = std::string(kTexts[below(10)]);
    if (below(6) == 0) result["epsilon"] = std::numeric_limits<float>::quiet_NaN();
    if (below(6) == 0) result["value"] = tensor();
    return result;
  }

 private:
  std::mt19937_64 generator_;
};

Node nonsense_node(const OpDef& def, Nonsense& random) {
  Node node;
  node.op = def.op;
  node.name = "n";
  node.version = random.below(3) == 0 ? static_cast<int>(random.below(25)) : 7 + static_cast<int>(random.below(15));
  node.attributes = random.attributes();
  const std::int64_t outputs = def.outputs < 0 ? 1 + random.below(3) : 1 + random.below(def.outputs);
  for (std::int64_t i = 0; i < outputs; ++i)
    node.outputs.push_back(random.below(10) == 0 ? kNoValue : static_cast<ValueId>(i));
  if (random.below(10) == 0) node.fusion.activation = Activation::kRelu;
  return node;
}

std::vector<Tensor> nonsense_inputs(const OpDef& def, Nonsense& random) {
  const std::int64_t most = def.max_inputs < 0 ? def.min_inputs + 3 : def.max_inputs;
  std::vector<Tensor> inputs(static_cast<std::size_t>(def.min_inputs + random.below(most - def.min_inputs + 1)));
  // Half of the time the types fit, so that something runs; often shapes are alike too.
  const bool fitting = random.below(4) != 0, alike = random.below(2) == 0;
  const Tensor first = random.tensor();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const char letter = def.signature[std::min(i, def.signature.size() - 1)];
    if (!fitting || letter == '*') {
      inputs[i] = random.tensor();
    } else if (letter == 'T') {
      inputs[i] = alike ? random.filled(first.dtype(), first.shape()) : random.tensor(first.dtype());
    } else {
      const DType dtype = letter == 'B'   ? DType::kBool
                          : letter == 'F' ? DType::kF32
                          : letter == 'Q' ? DType::kU8
                                          : DType::kI64;
      inputs[i] = random.below(2) == 0 ? random.tensor(dtype) : random.filled(dtype, {random.below(5)});
    }
    if (random.below(12) == 0) inputs[i] = Tensor();
  }
  return inputs;
}

TEST(Robustness, NonsenseNeverCrashes) {
  std::int64_t accepted = 0;
  for (const OpDef* def : op_table())
    for (unsigned seed = 0; seed < 300; ++seed) {
      Nonsense random(seed);
      const Node node = nonsense_node(*def, random);
      const std::vector<Tensor> inputs = nonsense_inputs(*def, random);
      const auto result = evaluate(node, inputs);
      if (!result) {
        ASSERT_TRUE(result.error().message.starts_with("node 'n' (" + node.op))
            << seed << ": " << result.error().message;
        continue;
      }
      ++accepted;
      for (std::size_t i = 0; i < result->size(); ++i)
        ASSERT_EQ((*result)[i].defined(), node.outputs[i] != kNoValue) << node.op << ", seed " << seed;
    }
  // Otherwise the test would say nothing.
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace espalier::ops
