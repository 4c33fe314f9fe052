// Importing: element types, constants, types and shapes, old and new files, and one test per diagnostic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <espalier/onnx.hpp>

#include "onnx/model_builder.hpp"

namespace espalier::onnx_io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Graph> import(const onnx::ModelProto& model) {
  const std::string bytes = model.SerializeAsString();
  return parse_onnx(bytes.data(), bytes.size());
}

void expect_error(const onnx::ModelProto& model, ErrorCode code, const char* message) {
  const auto graph = import(model);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, code);
  EXPECT_THAT(graph.error().message, HasSubstr(message));
}

onnx::TensorProto& add_initializer(onnx::ModelProto& model, const char* name, int type,
                                   std::initializer_list<int> dims) {
  auto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int dim : dims) tensor.add_dims(dim);
  return tensor;
}

Tensor constant(const Graph& graph, const char* name) {
  const ValueId id = graph.find(name);
  return id == kNoValue ? Tensor() : graph.value(id).constant;
}

TEST(OnnxImport, ReadsNodesTypesAndMetadata) {
  onnx::ModelProto model = make_relu_model();
  model.set_producer_name("someone");
  auto& batch = *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  batch.mutable_dim(0)->set_dim_param("batch");
  auto& entry = *model.add_metadata_props();
  entry.set_key("license");
  entry.set_value("MIT");
  const auto graph = import(model);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(to_text(*graph), R"(graph "test" opset@17
metadata "license" = "MIT"
metadata "onnx.ir_version" = "8"
metadata "onnx.producer_name" = "someone"
input %x: f32["batch"]
%y: f32[2] = Relu(%x)
output %y
)");
}

TEST(OnnxImport, NeverRefusesNewOpsetsAndIrVersions) {
  onnx::ModelProto model = make_relu_model();
  model.set_ir_version(99);
  model.mutable_opset_import(0)->set_version(99);
  const auto graph = import(model);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->nodes[0].version, 99);
}

TEST(OnnxImport, WritesTheStandardDomainOneWay) {
  onnx::ModelProto model = make_relu_model();
  model.mutable_opset_import(0)->set_domain("ai.onnx");
  model.mutable_graph()->mutable_node(0)->set_domain("ai.onnx");
  auto& other = *model.add_opset_import();
  other.set_domain("com.microsoft");
  other.set_version(1);
  const auto graph = import(model);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->nodes[0].domain, "");
  EXPECT_EQ(graph->nodes[0].version, 17);
  EXPECT_EQ(graph->opsets.at("com.microsoft"), 1);
}

TEST(OnnxImport, ReadsTypedFields) {
  onnx::ModelProto model = make_relu_model();
  add_initializer(model, "f32", onnx::TensorProto::FLOAT, {2}).mutable_float_data()->Add(1.5F);
  model.mutable_graph()->mutable_initializer(0)->add_float_data(-2);
  add_initializer(model, "f64", onnx::TensorProto::DOUBLE, {1}).add_double_data(0.1);
  add_initializer(model, "f16", onnx::TensorProto::FLOAT16, {1}).add_int32_data(0x3c00);
  add_initializer(model, "bf16", onnx::TensorProto::BFLOAT16, {1}).add_int32_data(0x3f80);
  add_initializer(model, "i8", onnx::TensorProto::INT8, {1}).add_int32_data(-128);
  add_initializer(model, "u8", onnx::TensorProto::UINT8, {1}).add_int32_data(255);
  add_initializer(model, "i16", onnx::TensorProto::INT16, {1}).add_int32_data(-3);
  add_initializer(model, "u16", onnx::TensorProto::UINT16, {1}).add_int32_data(65535);
  add_initializer(model, "i32", onnx::TensorProto::INT32, {1}).add_int32_data(-5);
  add_initializer(model, "u32", onnx::TensorProto::UINT32, {}).add_uint64_data(4000000000U);
  add_initializer(model, "i64", onnx::TensorProto::INT64, {1}).add_int64_data(-7);
  add_initializer(model, "u64", onnx::TensorProto::UINT64, {1}).add_uint64_data(~std::uint64_t{0});
  add_initializer(model, "bool", onnx::TensorProto::BOOL, {1}).add_int32_data(1);
  const auto graph = import(model);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_THAT(constant(*graph, "f32").values<float>(), ElementsAre(1.5F, -2.0F));
  EXPECT_EQ(constant(*graph, "f64").values<double>()[0], 0.1);
  EXPECT_EQ(static_cast<float>(constant(*graph, "f16").values<f16>()[0]), 1.0F);
  EXPECT_EQ(static_cast<float>(constant(*graph, "bf16").values<bf16>()[0]), 1.0F);
  EXPECT_EQ(constant(*graph, "i8").values<std::int8_t>()[0], -128);
  EXPECT_EQ(constant(*graph, "u8").values<std::uint8_t>()[0], 255);
  EXPECT_EQ(constant(*graph, "i16").values<std::int16_t>()[0], -3);
  EXPECT_EQ(constant(*graph, "u16").values<std::uint16_t>()[0], 65535);
  EXPECT_EQ(constant(*graph, "i32").values<std::int32_t>()[0], -5);
  EXPECT_EQ(constant(*graph, "u32").values<std::uint32_t>()[0], 4000000000U);
  EXPECT_EQ(constant(*graph, "i64").values<std::int64_t>()[0], -7);
  EXPECT_EQ(constant(*graph, "u64").values<std::uint64_t>()[0], ~std::uint64_t{0});
  EXPECT_TRUE(constant(*graph, "bool").values<bool>()[0]);
}

TEST(OnnxImport, ReadsRawBytes) {
  onnx::ModelProto model = make_relu_model();
  const std::int16_t values[] = {1, -2, 3};
  add_initializer(model, "i16", onnx::TensorProto::INT16, {3}).set_raw_data(values, sizeof values);
  add_initializer(model, "bool", onnx::TensorProto::BOOL, {3}).set_raw_data(std::string("\x00\x01\x07", 3));
  add_initializer(model, "none", onnx::TensorProto::FLOAT, {0, 4}).set_raw_data("");
  const auto graph = import(model);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_THAT(constant(*graph, "i16").values<std::int16_t>(), ElementsAre(1, -2, 3));
  EXPECT_THAT(constant(*graph, "bool").values<bool>(), ElementsAre(false, true, true));
  EXPECT_EQ(constant(*graph, "none").shape(), (Shape{0, 4}));
}

TEST(OnnxImport, ConstantNodesBecomeConstants) {
  onnx::ModelProto model = make_relu_model();
  const auto add = [&](const char* output, const char* attribute) -> onnx::AttributeProto& {
    auto& proto = *add_node(model, "Constant", {}, {output}).add_attribute();
    proto.set_name(attribute);
    return proto;
  };
  add("a", "value_float").set_f(0.5F);
  add("b", "value_int").set_i(3);
  add("c", "value_ints").add_ints(4);
  add("d", "value_floats").add_floats(0.25F);
  auto& tensor = *add("e", "value").mutable_t();
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_float_data(9);
  const auto graph = import(model);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->nodes.size(), 1U);
  EXPECT_EQ(constant(*graph, "a").rank(), 0);
  EXPECT_EQ(constant(*graph, "a").values<float>()[0], 0.5F);
  EXPECT_EQ(constant(*graph, "b").values<std::int64_t>()[0], 3);
  EXPECT_EQ(constant(*graph, "c").shape(), Shape{1});
  EXPECT_EQ(constant(*graph, "d").values<float>()[0], 0.25F);
  EXPECT_EQ(constant(*graph, "e").values<float>()[0], 9);
}

TEST(OnnxImport, InitialisersListedAsInputsAreConstants) {
  onnx::ModelProto model = make_relu_model();
  model.set_ir_version(3);
  set_type(*model.mutable_graph()->add_input(), "w", {1});
  add_initializer(model, "w", onnx::TensorProto::FLOAT, {1}).add_float_data(1);
  const auto graph = import(model);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->inputs.size(), 1U);
  EXPECT_TRUE(graph->is_constant(graph->find("w")));
}

TEST(OnnxImport, OmittedInputsAndOutputsAreNoValue) {
  onnx::ModelProto model = make_relu_model();
  add_node(model, "Foo", {"y", "", "y"}, {"", "z"});
  const auto graph = import(model);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->nodes[1].input(1), kNoValue);
  EXPECT_EQ(graph->nodes[1].outputs[0], kNoValue);
}

TEST(OnnxImport, PutsNodesInOrder) {
  onnx::ModelProto model = make_relu_model();
  model.mutable_graph()->mutable_node(0)->set_input(0, "t");
  add_node(model, "Abs", {"x"}, {"t"});
  const auto graph = import(model);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->nodes[0].op, "Abs");
}

TEST(OnnxImport, KeepsNodesWithSubgraphsAndStringTensors) {
  onnx::ModelProto model = make_relu_model();
  auto& branch = *add_node(model, "If", {"y"}, {"z"}).add_attribute();
  branch.set_name("then_branch");
  branch.set_type(onnx::AttributeProto::GRAPH);
  branch.mutable_g()->set_name("inner");
  auto& text = *add_node(model, "Constant", {}, {"s"}).add_attribute();
  text.set_name("value");
  text.set_type(onnx::AttributeProto::TENSOR);
  text.mutable_t()->set_data_type(onnx::TensorProto::STRING);
  const auto graph = import(model);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_THAT(graph->nodes[1].opaque, ElementsAre("then_branch"));
  EXPECT_THAT(graph->nodes[2].opaque, ElementsAre("value"));
}

TEST(OnnxImport, MarksCallsOfModelLocalFunctions) {
  onnx::ModelProto model = make_relu_model();
  model.mutable_graph()->mutable_node(0)->set_domain("local");
  model.add_functions()->set_name("Relu");
  model.mutable_functions(0)->set_domain("local");
  const auto graph = import(model);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_THAT(graph->nodes[0].opaque, ElementsAre("model-local function"));
}

// ---- Sparse initialisers -------------------------------------------------------------------------------------------

onnx::SparseTensorProto& add_sparse(onnx::ModelProto& model, std::initializer_list<int> dims,
                                    std::initializer_list<float> values, std::initializer_list<std::int64_t> indices,
                                    bool linear) {
  auto& proto = *model.mutable_graph()->add_sparse_initializer();
  for (const int dim : dims) proto.add_dims(dim);
  proto.mutable_values()->set_name("w");
  proto.mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  proto.mutable_values()->add_dims(static_cast<int>(values.size()));
  for (const float value : values) proto.mutable_values()->add_float_data(value);
  proto.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  proto.mutable_indices()->add_dims(static_cast<int>(values.size()));
  if (!linear) proto.mutable_indices()->add_dims(static_cast<int>(dims.size()));
  for (const std::int64_t index : indices) proto.mutable_indices()->add_int64_data(index);
  return proto;
}

TEST(OnnxImport, UnpacksSparseInitialisersOfBothForms) {
  for (const bool linear : {true, false}) {
    onnx::ModelProto model = make_relu_model();
    if (linear)
      add_sparse(model, {2, 3}, {5, 7}, {1, 5}, true);
    else
      add_sparse(model, {2, 3}, {5, 7}, {0, 1, 1, 2}, false);
    const auto graph = import(model);
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_THAT(constant(*graph, "w").values<float>(), ElementsAre(0, 5, 0, 0, 0, 7));
    EXPECT_TRUE(graph->value(graph->find("w")).sparse_storage);
  }
}

TEST(OnnxImportErrors, SparseInitialisers) {
  onnx::ModelProto model = make_relu_model();
  add_sparse(model, {2, 3}, {5, 7}, {1, 6}, true);
  expect_error(model, ErrorCode::kInvalidData, "sparse tensor 'w': index 1 lies outside the shape 2x3");
  model = make_relu_model();
  add_sparse(model, {2, 3}, {5, 7}, {0, 1, 1, 3}, false);
  expect_error(model, ErrorCode::kInvalidData, "index 1 lies outside the shape 2x3");
  model = make_relu_model();
  add_sparse(model, {1 << 30, 1 << 30}, {5}, {1}, true);
  expect_error(model, ErrorCode::kLimit, "shape 1073741824x1073741824 is too large for the 1 values");
  model = make_relu_model();
  add_sparse(model, {2, 3}, {5}, {1}, true).mutable_indices()->set_dims(0, 1);
  model.mutable_graph()->mutable_sparse_initializer(0)->mutable_indices()->add_dims(1);
  expect_error(model, ErrorCode::kInvalidData, "indices must be i64[1] or i64[1x2], found i64[1x1]");
}

// ---- Errors --------------------------------------------------------------------------------------------------------

TEST(OnnxImportErrors, NotAModel) {
  expect_error(onnx::ModelProto(), ErrorCode::kInvalidData, "the file has no graph");
  const auto graph = parse_onnx("hello", 5);
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("its 5 bytes are not a whole protobuf message"));
}

TEST(OnnxImportErrors, InitialisersWithoutAHome) {
  onnx::ModelProto model = make_relu_model();
  add_initializer(model, "w", onnx::TensorProto::STRING, {});
  expect_error(model, ErrorCode::kUnsupported, "tensor 'w' has elements of type STRING");
  model = make_relu_model();
  add_initializer(model, "w", 22, {});
  expect_error(model, ErrorCode::kUnsupported, "tensor 'w' has elements of type INT4");
  model = make_relu_model();
  add_initializer(model, "w", onnx::TensorProto::FLOAT, {}).mutable_segment();
  expect_error(model, ErrorCode::kUnsupported, "tensor 'w' is stored in segments");
}

TEST(OnnxImportErrors, ShapesThatDoNotFitTheBytes) {
  onnx::ModelProto model = make_relu_model();
  add_initializer(model, "w", onnx::TensorProto::FLOAT, {3}).add_float_data(1);
  expect_error(model, ErrorCode::kInvalidData, "tensor 'w': f32[3] has 3 elements, but the file holds 1");
  model = make_relu_model();
  add_initializer(model, "w", onnx::TensorProto::FLOAT, {1 << 30, 1 << 30}).set_raw_data("12345");
  expect_error(model, ErrorCode::kInvalidData, "but the file holds 5 bytes");
  model = make_relu_model();
  add_initializer(model, "w", onnx::TensorProto::FLOAT, {1 << 30, 1 << 30, 1 << 30}).set_raw_data("12345");
  expect_error(model, ErrorCode::kLimit, "tensor 'w': shape 1073741824x1073741824x1073741824 has more than 2^63");
  model = make_relu_model();
  add_initializer(model, "w", onnx::TensorProto::FLOAT, {-1}).set_raw_data("1234");
  expect_error(model, ErrorCode::kInvalidData, "tensor 'w': shape -1 has a negative size");
}

TEST(OnnxImportErrors, BrokenStructure) {
  onnx::ModelProto model = make_relu_model();
  model.mutable_graph()->mutable_node(0)->set_input(0, "nowhere");
  expect_error(model, ErrorCode::kInvalidData, "node '' (Relu, opset 17) reads 'nowhere', which no graph input");
  model = make_relu_model();
  model.mutable_graph()->mutable_output(0)->set_name("nowhere");
  expect_error(model, ErrorCode::kInvalidData, "graph output 'nowhere' is produced by no node");
  model = make_relu_model();
  set_type(*model.mutable_graph()->add_input(), "x", {1});
  expect_error(model, ErrorCode::kInvalidData, "graph input 'x' has the name of another value");
  model = make_relu_model();
  add_node(model, "Abs", {"y"}, {"y"});
  expect_error(model, ErrorCode::kInvalidData, "depends on its own output");
  model = make_relu_model();
  add_node(model, "Constant", {}, {"y"}).add_attribute()->set_name("value_float");
  model.mutable_graph()->mutable_node(1)->mutable_attribute(0)->set_f(1);
  expect_error(model, ErrorCode::kInvalidData, "writes 'y', which is already");
}

TEST(OnnxImportErrors, AttributesOfTheWrongType) {
  onnx::ModelProto model = make_relu_model();
  auto& attribute = *model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute.set_name("axis");
  attribute.set_f(1);
  expect_error(model, ErrorCode::kInvalidData, "attribute 'axis' must be an integer, found a float");
}

TEST(OnnxImportErrors, MissingFile) {
  const auto graph = load_onnx("does/not/exist.onnx");
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(graph.error().message, HasSubstr("does/not/exist.onnx: cannot be opened"));
}

}  // namespace
}  // namespace espalier::onnx_io
