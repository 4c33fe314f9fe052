// Trained and published networks from file to output: accuracy on CIFAR-10, and outputs that other implementations
// gave.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <espalier/data.hpp>
#include <espalier/files.hpp>
#include <espalier/onnx.hpp>
#include <espalier/runtime.hpp>
#include <filesystem>
#include <fstream>

namespace espalier {
namespace {

std::string data_path(const std::string& name) { return std::string(ESPALIER_SOURCE_DIR "/../shared/data/") + name; }

Result<Plan> compile_file(const std::string& path, std::int64_t batch) {
  auto graph = load_onnx(path);
  if (!graph) return make_error(graph.error().code, graph.error().message);
  return compile(*graph, {.tuning = Tuning::kModel, .batch = batch});
}

struct Accuracy {
  const char* file;
  double top1;
};
class Cifar : public testing::TestWithParam<Accuracy> {};

TEST_P(Cifar, ReachesThePublishedAccuracy) {
  const std::string model = data_path(std::string("models/") + GetParam().file);
  if (!std::filesystem::exists(model)) GTEST_SKIP() << "no " << model;
  auto data = load_dataset("cifar10:" + data_path("cifar10"), Split::kTest);
  ASSERT_TRUE(data) << data.error().message;
  data->preprocess = {{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
  constexpr std::int64_t kBatch = 100;  // divides the test set
  auto plan = compile_file(model, kBatch);
  ASSERT_TRUE(plan) << plan.error().message;
  Session session(*plan);
  std::int64_t correct = 0;
  for (std::int64_t first = 0; first < data->count(); first += kBatch) {
    auto inputs = make_batch(*data, plan->inputs(), first, kBatch);
    ASSERT_TRUE(inputs) << inputs.error().message;
    auto outputs = session.run(*inputs);
    ASSERT_TRUE(outputs) << outputs.error().message;
    const float* logits = (*outputs)[0].tensor.values<float>().data();
    for (std::int64_t i = 0; i < kBatch; ++i, logits += 10)
      correct += std::max_element(logits, logits + 10) - logits == data->labels[static_cast<std::size_t>(first + i)];
  }
  EXPECT_NEAR(100.0 * static_cast<double>(correct) / static_cast<double>(data->count()), GetParam().top1, 0.02);
}

INSTANTIATE_TEST_SUITE_P(Trained, Cifar,
                         testing::Values(Accuracy{"resnet20_cifar10.onnx", 91.73},
                                         Accuracy{"resnet56_cifar10.onnx", 93.39}),
                         [](const auto& test) { return std::string(test.param.file).substr(0, 8); });

// Batches in which planes of different layers hold different numbers of images, and odd ones.
TEST(SparseResidual, GivesAnImageTheSameLogitsInEveryBatch) {
  constexpr std::int64_t kPixels = 28 * 28, kMost = 64;
  Tensor images(DType::kF32, {kMost, 1, 28, 28});
  for (std::int64_t i = 0; i < kMost * kPixels; ++i)
    images.values<float>()[static_cast<std::size_t>(i)] = static_cast<float>((i * 7919) % 1009) / 500.0F - 1.0F;
  for (const char* file : {"dense.onnx", "block8x8_half.onnx", "nm24.onnx", "block16x4_quarter.onnx"}) {
    std::vector<float> alone;
    for (const std::int64_t batch : {1, 7, 8, 64}) {
      SCOPED_TRACE(testing::Message() << file << " batch " << batch);
      auto plan = compile_file(std::string(ESPALIER_SOURCE_DIR "/examples/fashion_mnist/") + file, batch);
      ASSERT_TRUE(plan) << plan.error().message;
      Session session(*plan);
      std::vector<float> logits;
      for (std::int64_t first = 0; first + batch <= (batch == 1 ? 8 : batch); first += batch) {
        const Tensor part =
            Tensor::view(DType::kF32, {batch, 1, 28, 28}, images.values<float>().data() + first * kPixels);
        auto outputs = session.run({{"image", part}});
        ASSERT_TRUE(outputs) << outputs.error().message;
        const auto values = (*outputs)[0].tensor.values<float>();
        logits.insert(logits.end(), values.begin(), values.end());
      }
      if (batch == 1) alone = logits;
      for (std::size_t i = 0; i < std::min(alone.size(), logits.size()); ++i) ASSERT_NEAR(logits[i], alone[i], 2e-4);
    }
  }
}

TEST(Inception, MatchesTheProbabilitiesOfItsOrigin) {
  const std::string model = data_path("models/inception_v3_5class.onnx");
  if (!std::filesystem::exists(model)) GTEST_SKIP() << "no " << model;
  auto recorded = read_npz(data_path("models/inception_v3_5class_io.npz"));
  ASSERT_TRUE(recorded) << recorded.error().message;
  Tensor images, expected;
  for (const NamedTensor& array : *recorded) (array.name == "images" ? images : expected) = array.tensor;
  auto plan = compile_file(model, images.dim(0));
  ASSERT_TRUE(plan) << plan.error().message;
  Dataset data;
  data.images = images;
  data.labels.resize(static_cast<std::size_t>(images.dim(0)));
  auto inputs = make_batch(data, plan->inputs(), 0, images.dim(0));
  ASSERT_TRUE(inputs) << inputs.error().message;
  Session session(*plan);
  auto outputs = session.run(*inputs);
  ASSERT_TRUE(outputs) << outputs.error().message;
  const auto found = (*outputs)[0].tensor.values<float>(), wanted = expected.values<float>();
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-4) << "element " << i;
}

// The raw floats of a TensorProto file: its last field is raw_data, so they are its last bytes.
std::vector<float> read_floats_at_end(const std::string& path, std::size_t count) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<float> values(count);
  file.seekg(-static_cast<std::streamoff>(count * sizeof(float)), std::ios::end);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(float)));
  return values;
}

class Light : public testing::TestWithParam<const char*> {};

TEST_P(Light, MatchesTheRecordedOutput) {
  const std::string base = data_path(std::string("models/light/light_") + GetParam());
  if (!std::filesystem::exists(base + ".onnx")) GTEST_SKIP() << "no " << base << ".onnx";
  auto plan = compile_file(base + ".onnx", 1);
  ASSERT_TRUE(plan) << plan.error().message;
  // The inputs of ONNX's backend tests for these models: a ramp from 0 to 1.
  const TensorInfo& port = plan->inputs()[0];
  Tensor ramp(DType::kF32, port.planned);
  const auto count = static_cast<double>(ramp.count());
  for (std::size_t i = 0; i < ramp.values<float>().size(); ++i)
    ramp.values<float>()[i] = static_cast<float>(static_cast<double>(i) / count);
  Session session(*plan);
  auto outputs = session.run({{port.name, ramp}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  const auto found = (*outputs)[0].tensor.values<float>();
  const std::vector<float> wanted = read_floats_at_end(base + "_output_0.pb", found.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i], 1e-6 + 1e-3 * std::fabs(wanted[i])) << "element " << i;
}

INSTANTIATE_TEST_SUITE_P(Published, Light,
                         testing::Values("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
                                         "shufflenet", "squeezenet", "vgg19", "zfnet512"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace espalier
