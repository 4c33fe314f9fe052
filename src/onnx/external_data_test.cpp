// External data: places in files, what is refused, offsets above 4 GB.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <espalier/onnx.hpp>
#include <filesystem>
#include <fstream>

#include "base/testing/temporary_folder.hpp"
#include "onnx/model_builder.hpp"

namespace espalier::onnx_io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExternalDataTest : public ::testing::Test {
 protected:
  ExternalDataTest() {
    const float values[] = {1, 2, 3, 4};
    std::ofstream(directory_ / "weights.bin", std::ios::binary)
        .write(reinterpret_cast<const char*>(values), sizeof values);
  }

  Result<Graph> import(const std::string& location, const std::string& offset, const std::string& length) const {
    onnx::ModelProto model = make_relu_model();
    auto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name("w");
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(2);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair("location", location), {"offset", offset}, {"length", length}}) {
      if (value.empty()) continue;
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    std::ofstream(directory_ / "model.onnx", std::ios::binary) << model.SerializeAsString();
    return load_onnx((directory_ / "model.onnx").string());
  }

  void expect_values(const Result<Graph>& graph, float first, float second) {
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_THAT(graph->value(graph->find("w")).constant.values<float>(), ElementsAre(first, second));
  }

  void expect_error(const Result<Graph>& graph, ErrorCode code, const char* message) {
    ASSERT_FALSE(graph);
    EXPECT_EQ(graph.error().code, code);
    EXPECT_THAT(graph.error().message, HasSubstr(message));
    EXPECT_THAT(graph.error().message, HasSubstr("tensor 'w'"));
  }

  const TemporaryFolder folder_;
  const std::filesystem::path directory_ = folder_.path();
};

TEST_F(ExternalDataTest, ReadsPlaces) {
  expect_values(import("weights.bin", "", ""), 1, 2);
  expect_values(import("weights.bin", "8", "8"), 3, 4);
  expect_values(import("./weights.bin", "4", ""), 2, 3);
  std::filesystem::create_directories(directory_ / "sub");
  std::filesystem::copy_file(directory_ / "weights.bin", directory_ / "sub" / "w.bin");
  expect_values(import("sub/w.bin", "0", "8"), 1, 2);
}

TEST_F(ExternalDataTest, ReadsUnalignedPlaces) {
  std::ofstream(directory_ / "odd.bin", std::ios::binary) << 'x' << std::string("\0\0\x80\x3f\0\0\0\x40", 8);
  expect_values(import("odd.bin", "1", "8"), 1, 2);
}

TEST_F(ExternalDataTest, ReadsBeyondFourGigabytes) {
  // A file with a hole: it takes no space.
  const std::filesystem::path path = directory_ / "large.bin";
  const std::uint64_t offset = 5'000'000'000;
  std::ofstream(path, std::ios::binary).put(0);
  std::error_code error;
  std::filesystem::resize_file(path, offset, error);
  if (error) GTEST_SKIP() << "the file system has no files of 5 GB: " << error.message();
  const float values[] = {6, 7};
  std::ofstream(path, std::ios::binary | std::ios::app).write(reinterpret_cast<const char*>(values), sizeof values);
  expect_values(import("large.bin", std::to_string(offset), ""), 6, 7);
}

TEST_F(ExternalDataTest, RefusesWhatIsNotThere) {
  expect_error(import("missing.bin", "", ""), ErrorCode::kNotFound, "missing.bin: cannot be opened");
  expect_error(import("weights.bin", "12", ""), ErrorCode::kInvalidData,
               "'weights.bin' has 16 bytes, but f32[2] at offset 12 needs more");
  expect_error(import("weights.bin", "18446744073709551615", ""), ErrorCode::kInvalidData, "needs more");
  expect_error(import("weights.bin", "0", "12"), ErrorCode::kInvalidData, "length is 12 bytes, but f32[2] has 8");
  expect_error(import("weights.bin", "x", ""), ErrorCode::kInvalidData, "'offset' must be a byte count, found 'x'");
}

TEST_F(ExternalDataTest, RefusesToLeaveTheDirectory) {
  for (const char* location : {"../weights.bin", "/etc/passwd", "sub/../../weights.bin", "", ".."})
    expect_error(import(location, "", ""), ErrorCode::kInvalidData, "must be a file in the model's directory");
}

}  // namespace
}  // namespace espalier::onnx_io
