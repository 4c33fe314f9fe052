// Building, looking up, replacing, sorting and verifying graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <espalier/graph.hpp>

namespace espalier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// x -> Relu -> a; a, a -> Add -> b; output b.
Graph small_graph() {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::kF32, symbolic({2}));
  const ValueId a = graph.add_node("Relu", {x}, {}, "first");
  const ValueId b = graph.add_node("Add", {a, a}, {{"axis", std::int64_t{1}}}, "second");
  graph.outputs = {b};
  return graph;
}

TEST(Graph, BuildsAndVerifies) {
  const Graph graph = small_graph();
  EXPECT_TRUE(verify(graph));
  EXPECT_EQ(describe(graph.nodes[0]), "node 'first' (Relu, opset 17)");
  EXPECT_THAT(graph.producers(), ElementsAre(-1, 0, 1));
  EXPECT_THAT(graph.consumers(), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre()));
}

TEST(Graph, FreshNamesAreUnique) {
  Graph graph;
  graph.add_input("v1", DType::kF32, {});
  const ValueId fresh = graph.add_value({});
  EXPECT_EQ(graph.value(fresh).name, "v1_1");
  EXPECT_EQ(graph.find("v1"), 0);
  EXPECT_EQ(graph.find("nowhere"), kNoValue);
}

TEST(Graph, ReplacesEveryUse) {
  Graph graph = small_graph();
  graph.nodes[1].fusion.residual = 1;
  graph.replace_uses(1, 0);
  EXPECT_THAT(graph.nodes[1].inputs, ElementsAre(0, 0));
  EXPECT_EQ(graph.nodes[1].fusion.residual, 0);
  graph.replace_uses(2, 0);
  EXPECT_THAT(graph.outputs, ElementsAre(0));
}

TEST(Graph, AttributesHaveDefaults) {
  const Graph graph = small_graph();
  const Node& node = graph.nodes[1];
  EXPECT_EQ(node.int_or("axis", 7), 1);
  EXPECT_EQ(node.int_or("other", 7), 7);
  EXPECT_EQ(node.float_or("axis", 0.5F), 0.5F);
  EXPECT_EQ(node.string_or("axis", "none"), "none");
  EXPECT_THAT(node.ints_or("axis", {3}), ElementsAre(3));
}

TEST(Graph, ShapesAsText) {
  const SymbolicShape shape{.ranked = true, .dims = {{-1, "batch"}, {3, ""}, {-1, ""}}};
  EXPECT_EQ(to_string(shape), "batchx3x?");
  EXPECT_EQ(to_string(SymbolicShape{}), "unranked");
  EXPECT_EQ(to_string(symbolic({})), "scalar");
  EXPECT_FALSE(static_shape(shape));
  EXPECT_EQ(static_shape(symbolic({2, 3})), (Shape{2, 3}));
}

TEST(Graph, SortRestoresOrderAndKeepsItWhereItHolds) {
  Graph graph = small_graph();
  std::swap(graph.nodes[0], graph.nodes[1]);
  EXPECT_FALSE(verify(graph));
  ASSERT_TRUE(graph.sort());
  EXPECT_EQ(graph.nodes[0].op, "Relu");
  EXPECT_TRUE(verify(graph));
}

TEST(Graph, SortNamesANodeOnACycle) {
  Graph graph = small_graph();
  graph.nodes[0].inputs = {2};
  const Status status = graph.sort();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidData);
  EXPECT_THAT(status.error().message, HasSubstr("node 'first' (Relu, opset 17) depends on its own output"));
}

void expect_error(const Graph& graph, const char* message) {
  const Status status = verify(graph);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidData);
  EXPECT_THAT(status.error().message, HasSubstr(message));
}

TEST(Verify, FindsIdsOutOfRange) {
  Graph graph = small_graph();
  graph.nodes[0].inputs = {9};
  expect_error(graph, "reads value 9, but the graph has 3 values");
  graph = small_graph();
  graph.nodes[0].outputs = {9};
  expect_error(graph, "writes value 9");
  graph = small_graph();
  graph.inputs = {-1};
  expect_error(graph, "graph input -1 is not a value of the graph");
  graph = small_graph();
  graph.outputs = {7};
  expect_error(graph, "graph output 7 is not a value of the graph");
}

TEST(Verify, FindsTwoProducers) {
  Graph graph = small_graph();
  graph.nodes[1].outputs = {1};
  expect_error(graph, "node 'second' (Add, opset 17) writes 'v1', which is already");
  graph = small_graph();
  graph.value(0).constant = Tensor(DType::kF32, {2});
  expect_error(graph, "graph input 'x' is a constant");
  graph = small_graph();
  graph.inputs = {0, 0};
  expect_error(graph, "graph input 'x' is listed twice");
}

TEST(Verify, FindsWhatIsReadBeforeItIsMade) {
  Graph graph = small_graph();
  graph.nodes[0].fusion.residual = 2;
  expect_error(graph, "reads 'v2', which no graph input, constant or earlier node provides");
  graph = small_graph();
  graph.outputs = {graph.add_value({})};
  expect_error(graph, "graph output 'v3' is produced by no node");
}

TEST(Verify, FindsDoubleNamesAndMissingOperators) {
  Graph graph = small_graph();
  graph.value(1).name = "x";
  expect_error(graph, "two values are called 'x'");
  graph = small_graph();
  graph.value(1).name.clear();
  expect_error(graph, "value 1 has no name");
  graph = small_graph();
  graph.nodes[0].op.clear();
  expect_error(graph, "node 'first' has no operator type");
}

TEST(Verify, FindsAttributesOfTheWrongType) {
  Graph graph = small_graph();
  graph.nodes[1].attributes["axis"] = 1.5F;
  expect_error(graph, "attribute 'axis' must be an integer, found a float");
}

}  // namespace
}  // namespace espalier
