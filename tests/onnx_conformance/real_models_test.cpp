// Whole networks, as imported and after the default passes, against expected outputs. They lie beside the source in
// ../shared/data/models and are skipped where that folder is absent.
#include <gtest/gtest.h>

#include <espalier/files.hpp>
#include <espalier/onnx.hpp>
#include <espalier/passes.hpp>
#include <filesystem>
#include <random>

#include "cases.hpp"
#include "interpreter.hpp"
#include "onnx/tensor_proto.hpp"

namespace espalier::conformance {
namespace {

const std::filesystem::path kModels = ESPALIER_SOURCE_DIR "/../shared/data/models";

Graph load(const std::filesystem::path& path) {
  auto graph = load_onnx(path.string());
  EXPECT_TRUE(graph) << graph.error().message;
  return graph ? *std::move(graph) : Graph();
}

Graph optimised(Graph graph) {
  const Status status = run_default_passes(graph);
  EXPECT_TRUE(status) << status.error().message;
  return graph;
}

Tensor run(const Graph& graph, const Tensor& input) {
  const auto outputs = interpret(graph, {input});
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? outputs->front() : Tensor();
}

class LightModels : public ::testing::TestWithParam<const char*> {};

TEST_P(LightModels, MatchTheirExpectedOutputs) {
  const std::filesystem::path path = kModels / "light" / (std::string("light_") + GetParam() + ".onnx");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
  const auto expected =
      onnx_io::load_tensor_proto((path.parent_path() / (path.stem().string() + "_output_0.pb")).string());
  ASSERT_TRUE(expected) << expected.error().message;
  // The weights are all alike, so that the outputs do not depend on the input.
  Tensor input(DType::kF32, {1, 3, 224, 224});
  for (float& value : input.values<float>()) value = 0.5F;
  EXPECT_EQ(difference(run(optimised(load(path)), input), expected->tensor, 1e-3, 1e-5), "");
}

INSTANTIATE_TEST_SUITE_P(All, LightModels,
                         ::testing::Values("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
                                           "shufflenet", "squeezenet", "vgg19", "zfnet512"),
                         [](const auto& model) { return std::string(model.param); });

TEST(RealModels, InceptionMatchesItsExpectedOutputs) {
  const std::filesystem::path path = kModels / "inception_v3_5class.onnx";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
  const auto io = read_npz((kModels / "inception_v3_5class_io.npz").string());
  ASSERT_TRUE(io) << io.error().message;
  Tensor images, expected;
  for (const NamedTensor& named : *io) (named.name == "images" ? images : expected) = named.tensor;
  const Graph graph = optimised(load(path));

  const std::int64_t side = images.dim(1);
  for (std::int64_t i = 0; i < images.dim(0); ++i) {
    Tensor input(DType::kF32, {1, 3, side, side});
    const auto pixels = images.values<std::uint8_t>().subspan(static_cast<std::size_t>(i * side * side * 3));
    const auto planes = input.values<float>();
    const auto area = static_cast<std::size_t>(side * side);
    for (std::size_t p = 0; p < area; ++p)
      for (std::size_t c = 0; c < 3; ++c) planes[c * area + p] = static_cast<float>(pixels[3 * p + c]) / 255.0F;
    const Tensor found = run(graph, input);
    ASSERT_TRUE(found.defined());
    const auto row = expected.values<float>().subspan(static_cast<std::size_t>(i * 5), 5);
    EXPECT_EQ(difference(found, Tensor::of<float>({1, 5}, row), 0, 1e-4), "") << "image " << i;
  }
}

TEST(RealModels, PassesKeepTheResultsOfResNets) {
  constexpr unsigned kSeed = 5;
  for (const char* name : {"resnet20_cifar10.onnx", "resnet56_cifar10.onnx"}) {
    const std::filesystem::path path = kModels / name;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
    const Graph before = load(path);
    const Graph after = optimised(before);
    EXPECT_LT(after.nodes.size(), before.nodes.size() / 2) << to_text(after);
    std::mt19937 random(kSeed);
    std::normal_distribution<float> normal;
    Tensor input(DType::kF32, {2, 3, 32, 32});
    for (float& value : input.values<float>()) value = normal(random);
    EXPECT_EQ(difference(run(after, input), run(before, input), 1e-3, 1e-4), "") << name << ", seed " << kSeed;
  }
}

}  // namespace
}  // namespace espalier::conformance
