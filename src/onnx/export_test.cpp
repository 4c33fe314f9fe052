// Exporting what was imported: structure and bytes survive; what cannot be written is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <espalier/onnx.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "base/testing/temporary_folder.hpp"
#include "onnx/model_builder.hpp"

namespace espalier::onnx_io {
namespace {

using ::testing::HasSubstr;

class OnnxExport : public ::testing::Test {
 protected:
  OnnxExport() {}

  std::string path(const char* name) const { return (directory_ / name).string(); }

  static Graph parse(std::string_view text) {
    auto graph = parse_graph(text);
    EXPECT_TRUE(graph) << graph.error().message;
    return graph ? *graph : Graph();
  }

  // Saves, loads, and returns what came back; it must print the same.
  Graph round_trip(const Graph& graph, const SaveOnnxOptions& options = {}) {
    const Status saved = save_onnx(graph, path("model.onnx"), options);
    EXPECT_TRUE(saved) << saved.error().message;
    auto again = load_onnx(path("model.onnx"));
    EXPECT_TRUE(again) << again.error().message;
    return again ? *again : Graph();
  }

  const TemporaryFolder folder_;
  const std::filesystem::path directory_ = folder_.path();
};

void expect_equal_constants(const Graph& a, const Graph& b) {
  for (ValueId id = 0; id < a.value_count(); ++id) {
    if (!a.is_constant(id)) continue;
    const Tensor& left = a.value(id).constant;
    const ValueId other = b.find(a.value(id).name);
    ASSERT_NE(other, kNoValue) << a.value(id).name;
    const Tensor& right = b.value(other).constant;
    ASSERT_EQ(left.dtype(), right.dtype()) << a.value(id).name;
    ASSERT_EQ(left.shape(), right.shape()) << a.value(id).name;
    EXPECT_TRUE(left.bytes() == 0 || std::memcmp(left.raw(), right.raw(), left.bytes()) == 0) << a.value(id).name;
  }
}

constexpr std::string_view kEverything = R"(graph "everything" opset@17 "com.microsoft"@1
metadata "license" = "MIT"
metadata "onnx.doc_string" = "text"
metadata "onnx.domain" = "org.example"
metadata "onnx.ir_version" = "8"
metadata "onnx.model_version" = "3"
metadata "onnx.producer_name" = "p"
metadata "onnx.producer_version" = "1"
input %x: f32["batch"x8x?]
input %n: i64
const %w: f32[8x16] = ...
const %b: f16[2] = [0.1, -2]
const %hb: bf16[2] = [0.5, -1]
const %f: f64[2] = [0.5, 1e-300]
const %i8: i8[2] = [-128, 127]
const %u8: u8[2] = [0, 255]
const %i16: i16[2] = [-32768, 1]
const %u16: u16[2] = [65535, 1]
const %i32: i32[] = -7
const %u32: u32[2] = [4294967295, 0]
const %u64: u64[2] = [18446744073709551615, 0]
const %bool: bool[2] = [true, false]
const %none: f32[0x4] = []
%h: f32["batch"x4] = Gemm(%x, %w, _, %b) {alpha=1.0, transB=0} as "fc1"
%1, _ = Foo(%h, _, %n)
%d = com.microsoft::Gelu(%1) {a=[1, 2], b=[1.0, nan], c=["x", "y"], d=ints[], e=floats[], f=strings[], g=tensor(i32[2] = [1, 2]), h="s", i=3}
output %d
output %h
)";

TEST_F(OnnxExport, WritesWhatItWasGiven) {
  const Graph graph = parse(kEverything);
  const Graph again = round_trip(graph);
  EXPECT_EQ(to_text(again), to_text(graph));
  expect_equal_constants(graph, again);
}

TEST_F(OnnxExport, WritesExternalData) {
  const Graph graph = parse(R"(metadata "onnx.ir_version" = "8"
input %x: f32[2]
const %w: f32[64x64] = ...
const %v: f32[64x64] = ...
const %b: f32[2] = [1, 2]
%y = Foo(%x, %w, %v, %b)
output %y
)");
  const Graph again = round_trip(graph, {.external_data = true});
  EXPECT_EQ(to_text(again), to_text(graph));
  expect_equal_constants(graph, again);
  EXPECT_LT(std::filesystem::file_size(path("model.onnx")), 1000U);
  EXPECT_EQ(std::filesystem::file_size(path("model.onnx.data")), 2U * 64 * 64 * 4);
  // What was mapped from the file may be written over it.
  const Graph third = round_trip(again, {.external_data = true});
  expect_equal_constants(graph, third);
}

TEST_F(OnnxExport, WritesSparseInitialisers) {
  Graph graph = parse(R"(metadata "onnx.ir_version" = "3"
input %x: f32[2]
const %w: f32[2x4] = [0, 1, 0, 0, -0, 0, 0, 2]
const %v: f32[2x2] = [1, 1, 1, 0]
const %axes: i64[2] = 0
%y = Foo(%x, %w, %v, %axes)
output %y
)");
  const Graph again = round_trip(graph, {.sparse_initializers = true});
  EXPECT_TRUE(again.value(again.find("w")).sparse_storage);
  EXPECT_FALSE(again.value(again.find("v")).sparse_storage);
  EXPECT_FALSE(again.value(again.find("axes")).sparse_storage);
  EXPECT_EQ(again.value(again.find("w")).constant.values<float>()[7], 2);
  EXPECT_EQ(again.metadata.at("onnx.ir_version"), "6");
  // What was stored sparsely stays so.
  const Graph third = round_trip(again);
  EXPECT_EQ(to_text(third), to_text(again));
}

TEST_F(OnnxExport, ListsInitialisersAsInputsInOldFiles) {
  onnx::ModelProto model = make_relu_model();
  model.set_ir_version(3);
  auto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_float_data(1);
  const std::string bytes = model.SerializeAsString();
  const auto graph = parse_onnx(bytes.data(), bytes.size());
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_TRUE(save_onnx(*graph, path("old.onnx")));
  onnx::ModelProto saved;
  std::ifstream file(path("old.onnx"), std::ios::binary);
  ASSERT_TRUE(saved.ParseFromIstream(&file));
  ASSERT_EQ(saved.graph().input_size(), 2);
  EXPECT_EQ(saved.graph().input(1).name(), "w");
}

// ---- Refusals ------------------------------------------------------------------------------------------------------

void expect_refused(const Graph& graph, const std::string& path, const char* message) {
  const Status status = save_onnx(graph, path);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(status.error().message, HasSubstr(message));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(OnnxExport, RefusesWhatOnnxCannotSay) {
  expect_refused(parse("input %x: f32[2]\n%y = Conv(%x, %x) -> relu as \"c\"\noutput %y"), path("a"),
                 "node 'c' (Conv, opset 17) carries a fused relu");
  expect_refused(parse("input %x: f32[2]\n%y = Conv(%x, %x) + %x as \"c\"\noutput %y"), path("a"),
                 "node 'c' (Conv, opset 17) carries a fused residual");
  expect_refused(parse("input %x: f32[2]\n%y = If(%x) opaque(then_branch) as \"i\"\noutput %y"), path("a"),
                 "node 'i' (If, opset 17) cannot be exported: its 'then_branch' was not imported");
  expect_refused(parse("input %x: f32[2]\n%y = espalier::Silu(%x) as \"s\"\noutput %y"), path("a"),
                 "was made by a pass");
  expect_refused(parse("input %x\n%y = Relu(%x)\noutput %y"), path("a"), "graph input 'x' has no tensor type");
}

TEST_F(OnnxExport, NamesThePathThatCannotBeWritten) {
  const Status status = save_onnx(parse("input %x: f32[2]\noutput %x"), path("missing/model.onnx"));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_THAT(status.error().message, HasSubstr("missing/model.onnx: cannot be written"));
}

// ---- Real models ---------------------------------------------------------------------------------------------------

std::vector<std::filesystem::path> real_models() {
  std::vector<std::filesystem::path> result;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(ESPALIER_SOURCE_DIR "/../shared/data/models", error))
    if (entry.path().extension() == ".onnx") result.push_back(entry.path());
  std::sort(result.begin(), result.end());
  return result;
}

// Fields that a graph does not keep: Constant nodes become initialisers, comments are dropped.
onnx::ModelProto normalized(onnx::ModelProto model) {
  for (auto& opset : *model.mutable_opset_import())
    if (opset.domain().empty() || opset.domain() == "ai.onnx") opset.clear_domain();
  std::sort(model.mutable_metadata_props()->begin(), model.mutable_metadata_props()->end(),
            [](const auto& a, const auto& b) { return a.key() < b.key(); });
  auto& graph = *model.mutable_graph();
  graph.clear_doc_string();
  for (auto& info : *graph.mutable_input()) info.clear_doc_string();
  for (auto& info : *graph.mutable_output()) info.clear_doc_string();
  std::vector<onnx::NodeProto> nodes;
  for (auto& node : *graph.mutable_node()) {
    node.clear_doc_string();
    if (node.domain() == "ai.onnx") node.clear_domain();
    if (node.has_name() && node.name().empty()) node.clear_name();
    std::sort(node.mutable_attribute()->begin(), node.mutable_attribute()->end(),
              [](const auto& a, const auto& b) { return a.name() < b.name(); });
    for (auto& attribute : *node.mutable_attribute()) {
      attribute.clear_doc_string();
      if (attribute.has_t()) attribute.clear_t();
    }
    if (node.op_type() != "Constant") nodes.push_back(node);
  }
  graph.clear_node();
  for (const auto& node : nodes) *graph.add_node() = node;
  graph.clear_initializer();
  graph.clear_value_info();
  std::sort(graph.mutable_input()->begin(), graph.mutable_input()->end(),
            [](const auto& a, const auto& b) { return a.name() < b.name(); });
  return model;
}

TEST_F(OnnxExport, RealModelsSurvive) {
  const auto models = real_models();
  if (models.empty()) GTEST_SKIP() << "no models beside the source: ../shared/data/models is absent";
  for (const auto& file : models) {
    SCOPED_TRACE(file.filename().string());
    const auto graph = load_onnx(file.string());
    ASSERT_TRUE(graph) << graph.error().message;
    const Graph again = round_trip(*graph);
    EXPECT_EQ(to_text(again), to_text(*graph));
    expect_equal_constants(*graph, again);

    onnx::ModelProto before;
    onnx::ModelProto after;
    std::ifstream first(file, std::ios::binary);
    std::ifstream second(path("model.onnx"), std::ios::binary);
    ASSERT_TRUE(before.ParseFromIstream(&first));
    ASSERT_TRUE(after.ParseFromIstream(&second));
    EXPECT_TRUE(normalized(before).SerializeAsString() == normalized(after).SerializeAsString());
  }
}

// ---- Damaged files -------------------------------------------------------------------------------------------------

std::string everything_as_bytes(const std::string& path) {
  const auto graph = parse_graph(kEverything);
  EXPECT_TRUE(graph && save_onnx(*graph, path));
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST_F(OnnxExport, TruncatedFilesAreErrorsOrGraphs) {
  const std::string bytes = everything_as_bytes(path("model.onnx"));
  int errors = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string part = bytes.substr(0, size);
    const auto graph = parse_onnx(part.data(), part.size());
    EXPECT_TRUE(!graph || verify(*graph)) << "size " << size;
    errors += graph ? 0 : 1;
  }
  EXPECT_GT(errors, static_cast<int>(bytes.size()) * 9 / 10);
}

TEST_F(OnnxExport, FlippedBitsAreErrorsOrGraphs) {
  const std::string bytes = everything_as_bytes(path("model.onnx"));
  int errors = 0;
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto graph = parse_onnx(damaged.data(), damaged.size());
    EXPECT_TRUE(!graph || verify(*graph)) << "bit " << bit;
    errors += graph ? 0 : 1;
  }
  EXPECT_GT(errors, 0);
}

TEST_F(OnnxExport, RandomDamageIsAnErrorOrAGraph) {
  const std::string bytes = everything_as_bytes(path("model.onnx"));
  constexpr unsigned kSeed = 7;
  std::mt19937 random(kSeed);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = bytes;
    for (int i = 0; i < 8; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto graph = parse_onnx(damaged.data(), damaged.size());
    EXPECT_TRUE(!graph || verify(*graph)) << "seed " << kSeed << ", round " << round;
  }
}

}  // namespace
}  // namespace espalier::onnx_io
