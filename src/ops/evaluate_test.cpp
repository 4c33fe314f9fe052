// The framework: what is refused, what is inferred, what messages say. Values of single operators are in the tests
// beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <espalier/ops.hpp>

#include "ops/op.hpp"
#include "ops/test_node.hpp"

namespace espalier::ops {
namespace {

using testing::HasSubstr;

TEST(Evaluate, NamesAnUnknownOperator) {
  const auto result = evaluate(make_node("Foo", 13, {}), {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(result.error().message, "node 'n' (Foo, opset 13): unknown operator");
}

TEST(Evaluate, RefusesAnOperatorByItsOwnVersion) {
  const auto result = evaluate(make_node("Add", 6, {}), {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "node 'n' (Add, opset 6): opset 6 is older than the first supported version 7 of this operator");
}

TEST(Evaluate, AcceptsAnyNewerOpset) {
  EXPECT_EQ(floats_of(run_node(make_node("Relu", 99, {}), {f32({3}, {-1, 0, 2})})), (std::vector<float>{0, 0, 2}));
}

TEST(Evaluate, CountsInputs) {
  EXPECT_EQ(error_of(make_node("Add", 13, {}), {f32({1}, {1})}),
            "node 'n' (Add, opset 13): expected 2 inputs, found 1");
}

TEST(Evaluate, NamesAnOmittedInput) {
  EXPECT_EQ(error_of(make_node("Add", 13, {}), {Tensor(), f32({1}, {1})}),
            "node 'n' (Add, opset 13): input 0 is required but omitted");
}

TEST(Evaluate, ChecksTypes) {
  EXPECT_EQ(error_of(make_node("Add", 13, {}), {f32({1}, {1}), i64({1}, {1})}),
            "node 'n' (Add, opset 13): input 1 has type i64, expected f32 as input 0");
  EXPECT_EQ(error_of(make_node("Exp", 13, {}), {i64({1}, {1})}),
            "node 'n' (Exp, opset 13): input 0 has type i64, expected one of f32 f64 bf16 f16");
}

TEST(Evaluate, RefusesAbsurdSizesBeforeAllocating) {
  const auto result = evaluate(make_node("ConstantOfShape", 13, {}), std::vector{i64({2}, {1 << 20, 1 << 20})});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kLimit);
  EXPECT_THAT(
      result.error().message,
      testing::StartsWith("node 'n' (ConstantOfShape, opset 13): output 0 of shape 1048576x1048576 and type f32 "
                          "is larger than the cap of "));
}

TEST(Evaluate, RefusesRanksAboveTheHighest) {
  EXPECT_THAT(error_of(make_node("Relu", 13, {}), {Tensor(DType::kF32, Shape(13, 1))}),
              HasSubstr("input 0 has rank 13, the highest supported is 12"));
}

TEST(Evaluate, ComputesHalvesInSingles) {
  const Tensor x = f32({2}, {1.5F, -2}).cast(DType::kF16);
  const auto result = evaluate(make_node("Mul", 13, {}), std::vector{x, x});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ((*result)[0].dtype(), DType::kF16);
  EXPECT_EQ(floats_of((*result)[0].cast(DType::kF32)), (std::vector<float>{2.25F, 4}));
}

TEST(Evaluate, AppliesTheFusedResidualAndActivation) {
  Node node = make_node("MatMul", 13, {});
  node.fusion.activation = Activation::kRelu;
  node.fusion.residual = 7;
  const Tensor a = f32({1, 2}, {1, 2}), b = f32({2, 2}, {1, -1, 1, -1}), residual = f32({1, 2}, {10, 1});
  EXPECT_EQ(floats_of(run_node(node, {a, b, residual})), (std::vector<float>{13, 0}));
  EXPECT_EQ(error_of(node, {a, b, f32({2}, {1, 2})}),
            "node 'n' (MatMul, opset 13): the fused residual is f32 2, expected f32 1x2 as the output");
}

TEST(Unsupported, ListsEveryNode) {
  Graph graph;
  graph.opsets[""] = 13;
  const ValueId x = graph.add_input("x", DType::kF32, symbolic({1}));
  const ValueId y = graph.add_node("Foo", {x}, {}, "first");
  graph.add_node("Bar", {y}, {}, "second");
  const auto nodes = unsupported_operators(graph);
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[1].op, "Bar");
  const Status status = infer_shapes(graph);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(status.error().message,
            "2 of 2 nodes cannot run:\n  node 'first' (Foo, opset 13): unknown operator\n  node 'second' (Bar, opset "
            "13): unknown operator");
}

TEST(InferShapes, FollowsAShapeChain) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::kF32, symbolic({2, 3, 4, 5}));
  const ValueId shape = graph.add_node("Shape", {x});
  const ValueId batch = graph.add_node("Gather", {shape, graph.add_constant("zero", i64({}, {0}))});
  const ValueId axes = graph.add_constant("axes", i64({1}, {0}));
  const ValueId rows = graph.add_node("Unsqueeze", {batch, axes});
  const ValueId target =
      graph.add_node("Concat", {rows, graph.add_constant("rest", i64({1}, {-1}))}, {{"axis", std::int64_t{0}}});
  const ValueId y = graph.add_node("Reshape", {x, target});
  graph.outputs = {y};
  const Status status = infer_shapes(graph);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(to_string(graph.value(y).shape), "2x60");
  EXPECT_EQ(graph.value(y).dtype, DType::kF32);
}

TEST(InferShapes, KeepsUnknownSizes) {
  Graph graph;
  const SymbolicShape batch{.ranked = true, .dims = {{-1, "batch"}, {3, ""}, {8, ""}, {8, ""}}};
  const ValueId x = graph.add_input("x", DType::kF32, batch);
  const ValueId w = graph.add_constant("w", Tensor(DType::kF32, {4, 3, 3, 3}));
  const ValueId y = graph.add_node("Conv", {x, w}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  const ValueId z = graph.add_node("Flatten", {y});
  ASSERT_TRUE(infer_shapes(graph));
  EXPECT_EQ(to_string(graph.value(y).shape), "batchx4x8x8");
  EXPECT_EQ(to_string(graph.value(z).shape), "batchx256");
}

TEST(Table, HasEveryRowOnceAndComplete) {
  const auto table = op_table();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const OpDef& row = *table[i];
    EXPECT_NE(row.infer, nullptr) << row.op;
    EXPECT_NE(row.run, nullptr) << row.op;
    EXPECT_FALSE(row.since.empty()) << row.op;
    EXPECT_TRUE(std::is_sorted(row.since.begin(), row.since.end())) << row.op;
    EXPECT_EQ(find_op(row.op, row.domain), &row);
    if (row.domain.empty()) {
      EXPECT_EQ(find_op(row.op, "ai.onnx"), &row);
    }
  }
  EXPECT_EQ(find_op("Foo", ""), nullptr);
}

TEST(Table, MapsOpsetsToVersions) {
  const OpDef& add = *find_op("Add", "");
  EXPECT_EQ(op_version(add, 6), std::nullopt);
  EXPECT_EQ(op_version(add, 12), 7);
  EXPECT_EQ(op_version(add, 30), 14);
}

}  // namespace
}  // namespace espalier::ops
