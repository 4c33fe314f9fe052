#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <espalier/files.hpp>
#include <filesystem>
#include <fstream>

#include "base/testing/temporary_folder.hpp"
#include "espalier/data.hpp"

namespace espalier {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class DatasetTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string folder() const { return folder_.string(); }

  void write_gzip(const std::string& name, const std::vector<std::uint8_t>& bytes) const {
    gzFile file = gzopen(path(name).c_str(), "wb");
    ASSERT_NE(file, nullptr);
    ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())), static_cast<int>(bytes.size()));
    gzclose(file);
  }

 private:
  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

std::vector<float> flat(const Tensor& tensor) { return {tensor.values<float>().begin(), tensor.values<float>().end()}; }

TEST(ParsePreprocess, ReadsMeansAndDeviations) {
  EXPECT_EQ(*parse_preprocess("mean=0.5,0.25,0;std=1,2,4"), (Preprocess{{0.5F, 0.25F, 0}, {1, 2, 4}}));
  EXPECT_EQ(*parse_preprocess("std=2"), (Preprocess{{}, {2}}));
  EXPECT_EQ(*parse_preprocess(""), Preprocess{});
}

TEST(ParsePreprocess, ShowsTheGrammar) {
  EXPECT_EQ(parse_preprocess("mean=0.5,x").error().message,
            "preprocess 'mean=0.5,x': expected mean=A,B,C;std=A,B,C, found 'x'");
  EXPECT_EQ(parse_preprocess("scale=2").error().message,
            "preprocess 'scale=2': expected mean=A,B,C;std=A,B,C, found 'scale=2'");
  EXPECT_EQ(parse_preprocess("std=1,0").error().message, "preprocess 'std=1,0': std must be positive");
}

TEST(LoadDataset, UnknownSpecShowsTheChoices) {
  EXPECT_EQ(load_dataset("imagenet", Split::kTest).error().message,
            "data 'imagenet': expected fashion-mnist, cifar10:DIR or a file F.npz");
  EXPECT_EQ(load_dataset("cifar10", Split::kTest).error().code, ErrorCode::kInvalidArgument);
}

TEST(LoadDataset, RealFashionMnist) {
  const auto data = load_dataset("fashion-mnist", Split::kTest);
  if (!data && data.error().code == ErrorCode::kNotFound) GTEST_SKIP() << "skipped aloud: " << data.error().message;
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->images.shape(), (Shape{10000, 28, 28, 1}));
  std::array<int, 10> counts{};
  for (const std::int64_t label : data->labels) ++counts.at(static_cast<std::size_t>(label));
  for (const int count : counts) EXPECT_EQ(count, 1000);
}

// Two images of 2 x 3 pixels.
const std::vector<std::uint8_t> kImages = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0,  0,
                                           0, 3, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255};
const std::vector<std::uint8_t> kLabels = {0, 0, 8, 1, 0, 0, 0, 2, 7, 3};

TEST_F(DatasetTest, IdxFilesAndTheirBatches) {
  write_gzip("t10k-images-idx3-ubyte.gz", kImages);
  write_gzip("t10k-labels-idx1-ubyte.gz", kLabels);
  auto data = load_dataset("fashion-mnist:" + folder(), Split::kTest);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->images.shape(), (Shape{2, 2, 3, 1}));
  EXPECT_EQ(data->labels, (std::vector<std::int64_t>{7, 3}));
  data->preprocess = {{0.5F}, {0.25F}};
  const std::vector<TensorInfo> inputs = {{"image", DType::kF32, {true, {Dim{}, Dim{1, ""}, Dim{}, Dim{}}}, {}}};
  const auto batch = make_batch(*data, inputs, 1, 2);
  ASSERT_TRUE(batch) << batch.error().message;
  ASSERT_EQ((*batch)[0].tensor.shape(), (Shape{2, 1, 2, 3}));
  const std::vector<float> values = flat((*batch)[0].tensor);
  EXPECT_FLOAT_EQ(values[0], (6 / 255.0F - 0.5F) / 0.25F);
  EXPECT_FLOAT_EQ(values[5], 2);
  EXPECT_FLOAT_EQ(values[11], 2) << "beyond the end the last example repeats";
}

TEST_F(DatasetTest, BrokenIdxFilesAreNamed) {
  const auto message = [&] { return load_dataset("fashion-mnist:" + folder(), Split::kTest).error().message; };
  EXPECT_EQ(message(),
            path("t10k-images-idx3-ubyte.gz") + ": no such file; on Debian, install the package dataset-fashion-mnist");
  write_gzip("t10k-labels-idx1-ubyte.gz", kLabels);
  write_gzip("t10k-images-idx3-ubyte.gz", {kImages.begin(), kImages.begin() + 20});
  EXPECT_EQ(message(), path("t10k-images-idx3-ubyte.gz") + ": ends 8 bytes early after 20 bytes of its contents");
  write_gzip("t10k-images-idx3-ubyte.gz", kLabels);
  EXPECT_EQ(message(), path("t10k-images-idx3-ubyte.gz") + ": starts with 0x801, expected 0x803 (bytes of rank 3)");
  std::vector<std::uint8_t> huge = kImages;
  huge[4] = 0x7f;
  write_gzip("t10k-images-idx3-ubyte.gz", huge);
  EXPECT_THAT(message(), HasSubstr(": declares a size of 2130706434, above the limit"));
  std::vector<std::uint8_t> fewer = {0, 0, 8, 1, 0, 0, 0, 1, 7};
  write_gzip("t10k-images-idx3-ubyte.gz", kImages);
  write_gzip("t10k-labels-idx1-ubyte.gz", fewer);
  EXPECT_EQ(message(), folder() + ": 2 images but 1 labels");
}

TEST_F(DatasetTest, CifarFromNpzAndFromTheOfficialFiles) {
  Tensor images(DType::kU8, {2, 32, 32, 3});
  for (std::int64_t i = 0; i < images.count(); ++i)
    images.values<std::uint8_t>()[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i * 7);
  const Tensor labels = Tensor::of<std::uint8_t>({2}, {4, 9});
  ASSERT_TRUE(write_npz(path("test.npz"), {{"image", images}, {"label", labels}}));
  std::ofstream bin(path("data_batch_1.bin"), std::ios::binary);
  for (std::size_t example = 0; example < 2; ++example) {
    bin.put(static_cast<char>(labels.values<std::uint8_t>()[example]));
    for (std::size_t channel = 0; channel < 3; ++channel)
      for (std::size_t pixel = 0; pixel < 1024; ++pixel)
        bin.put(static_cast<char>(images.values<std::uint8_t>()[(example * 1024 + pixel) * 3 + channel]));
  }
  bin.close();
  const auto test = load_dataset("cifar10:" + folder(), Split::kTest);
  const auto train = load_dataset("cifar10:" + folder(), Split::kTrain);
  ASSERT_TRUE(test) << test.error().message;
  ASSERT_TRUE(train) << train.error().message;
  EXPECT_EQ(test->labels, (std::vector<std::int64_t>{4, 9}));
  EXPECT_EQ(train->labels, test->labels);
  const auto bytes = [](const Dataset& data) {
    const auto values = data.images.values<std::uint8_t>();
    return std::vector<std::uint8_t>(values.begin(), values.end());
  };
  EXPECT_EQ(bytes(*test), bytes(*train));
  EXPECT_EQ(test->preprocess.mean.size(), 3U);
}

TEST_F(DatasetTest, CifarSaysWhatIsMissing) {
  EXPECT_EQ(load_dataset("cifar10:" + folder(), Split::kTest).error().message,
            folder() + ": holds no test.npz or test_batch.bin");
  std::ofstream(path("test_batch.bin")) << "short";
  EXPECT_EQ(load_dataset("cifar10:" + folder(), Split::kTest).error().message,
            path("test_batch.bin") + ": holds 5 bytes, expected a multiple of 3073");
  ASSERT_TRUE(write_npz(path("test.npz"), {{"label", Tensor::of<std::uint8_t>({1}, {4})}}));
  EXPECT_EQ(load_dataset("cifar10:" + folder(), Split::kTest).error().message,
            path("test.npz") + ": expected `image` u8 1x32x32x3 and `label` 1, found no `image`");
}

TEST_F(DatasetTest, ArraysAreMatchedByName) {
  const Tensor ids = Tensor::of<std::int64_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor labels = Tensor::of<std::int32_t>({2}, {0, 1});
  ASSERT_TRUE(write_npz(path("text.npz"), {{"ids", ids}, {"labels", labels}}));
  const auto data = load_dataset(path("text.npz"), Split::kTest);
  ASSERT_TRUE(data) << data.error().message;
  const auto input = [](const char* name, std::int64_t size) {
    return std::vector<TensorInfo>{{name, DType::kI32, {true, {Dim{}, Dim{size, ""}}}, {}}};
  };
  const auto batch = make_batch(*data, input("ids", 3), 1, 1);
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ((*batch)[0].tensor.dtype(), DType::kI32);
  EXPECT_EQ((*batch)[0].tensor.values<std::int32_t>()[0], 4);
  EXPECT_EQ(make_batch(*data, input("mask", 3), 0, 1).error().message,
            path("text.npz") + ": holds no array 'mask', which the network reads");
  EXPECT_EQ(make_batch(*data, input("ids", 4), 0, 1).error().message,
            "input 'ids' expects shape ?x4, but " + path("text.npz") + " gives 1x3");
}

TEST_F(DatasetTest, NpzSaysWhatDoesNotFit) {
  const Tensor ids = Tensor::of<std::int64_t>({2}, {1, 2});
  ASSERT_TRUE(write_npz(path("a.npz"), {{"ids", ids}}));
  EXPECT_EQ(load_dataset(path("a.npz"), Split::kTest).error().message, path("a.npz") + ": holds no array `labels`");
  ASSERT_TRUE(write_npz(path("a.npz"), {{"ids", ids}, {"labels", Tensor::of<std::int64_t>({1}, {1})}}));
  EXPECT_EQ(load_dataset(path("a.npz"), Split::kTest).error().message,
            path("a.npz") + ": array 'ids' has shape 2, expected 1 examples along its first axis");
  ASSERT_TRUE(write_npz(path("a.npz"), {{"labels", Tensor::of<float>({1}, {1})}}));
  EXPECT_EQ(load_dataset(path("a.npz"), Split::kTest).error().message,
            path("a.npz") + ": labels are f32 of shape 1, expected one integer per example");
}

TEST(MakeBatch, ImagesNeedOneInputAndMatchingChannels) {
  Dataset data;
  data.name = "pictures";
  data.images = Tensor(DType::kU8, {1, 4, 4, 3});
  data.labels = {0};
  data.preprocess = {{0.5F, 0.5F}, {}};
  const TensorInfo input{"image", DType::kF32, {true, {Dim{}, Dim{3, ""}, Dim{4, ""}, Dim{4, ""}}}, {}};
  EXPECT_EQ(make_batch(data, {input, input}, 0, 1).error().message,
            "pictures holds images for one input, but the network has 2 inputs");
  EXPECT_EQ(make_batch(data, {input}, 0, 1).error().message, "preprocess has 2 numbers for images of 3 channels");
  data.preprocess = {};
  TensorInfo large = input;
  large.shape.dims[2].size = 224;
  EXPECT_EQ(make_batch(data, {large}, 0, 1).error().message,
            "input 'image' expects shape ?x3x224x4, but pictures gives 1x3x4x4");
}

}  // namespace
}  // namespace espalier
