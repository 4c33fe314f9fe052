// CIFAR-10 (Krizhevsky) from .npz files with `image` u8 [n, 32, 32, 3] and `label`, or from the official binary
// version: per example one label byte and 3 x 1024 bytes, channel planes red, green, blue.
#include <algorithm>
#include <cstring>
#include <espalier/files.hpp>
#include <filesystem>
#include <fstream>

#include "base/fail.hpp"
#include "data/sources.hpp"

namespace espalier::data {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSide = 32, kChannels = 3, kPixels = kSide * kSide;
constexpr std::int64_t kRecord = 1 + kChannels * kPixels;

struct Part {
  Tensor images;
  std::vector<std::int64_t> labels;
};

Result<Part> read_part_npz(const std::string& path) {
  ESPALIER_ASSIGN(const std::vector<NamedTensor> arrays, read_npz(path));
  Part part;
  for (const NamedTensor& array : arrays) {
    if (array.name == "image") part.images = array.tensor;
    if (array.name == "label") {
      ESPALIER_ASSIGN(part.labels, labels_from(array.tensor, path));
    }
  }
  const auto count = static_cast<std::int64_t>(part.labels.size());
  if (!part.images.defined() || part.images.dtype() != DType::kU8 ||
      part.images.shape() != Shape{count, kSide, kSide, kChannels})
    return fail(ErrorCode::kInvalidData, "{}: expected `image` u8 {}x32x32x3 and `label` {}, found {}", path, count,
                count, part.images.defined() ? "`image` " + to_string(part.images.shape()) : "no `image`");
  return part;
}

Result<Part> read_part_bin(const std::string& path) {
  std::error_code problem;
  const auto bytes = static_cast<std::int64_t>(fs::file_size(path, problem));
  if (problem || bytes % kRecord != 0)
    return fail(ErrorCode::kInvalidData, "{}: holds {} bytes, expected a multiple of {}", path, bytes, kRecord);
  std::ifstream file(path, std::ios::binary);
  std::vector<char> record(static_cast<std::size_t>(kRecord));
  Part part{Tensor::uninitialized(DType::kU8, {bytes / kRecord, kSide, kSide, kChannels}), {}};
  auto* to = part.images.values<std::uint8_t>().data();
  for (std::int64_t i = 0; i < bytes / kRecord; ++i) {
    if (!file.read(record.data(), kRecord)) return fail(ErrorCode::kIo, "{}: cannot be read", path);
    part.labels.push_back(static_cast<std::uint8_t>(record[0]));
    for (std::int64_t pixel = 0; pixel < kPixels; ++pixel)
      for (std::int64_t channel = 0; channel < kChannels; ++channel)
        *to++ = static_cast<std::uint8_t>(record[static_cast<std::size_t>(1 + channel * kPixels + pixel)]);
  }
  return part;
}

// Sorted paths of the files that hold a split: test.npz or train*.npz, else test_batch.bin or data_batch_*.bin.
std::vector<std::string> files_of(const std::string& directory, Split split) {
  std::vector<std::string> npz, bin;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool test = split == Split::kTest;
    if (name.ends_with(".npz") && name.starts_with(test ? "test" : "train")) npz.push_back(entry.path().string());
    if (name.ends_with(".bin") && name.starts_with(test ? "test_batch" : "data_batch"))
      bin.push_back(entry.path().string());
  }
  std::vector<std::string>& found = npz.empty() ? bin : npz;
  std::sort(found.begin(), found.end());
  return found;
}

Part joined(const std::vector<Part>& parts) {
  Part whole;
  for (const Part& part : parts) whole.labels.insert(whole.labels.end(), part.labels.begin(), part.labels.end());
  whole.images =
      Tensor::uninitialized(DType::kU8, {static_cast<std::int64_t>(whole.labels.size()), kSide, kSide, kChannels});
  auto* to = static_cast<std::byte*>(whole.images.raw());
  for (const Part& part : parts) {
    std::memcpy(to, part.images.raw(), part.images.bytes());
    to += part.images.bytes();
  }
  return whole;
}

}  // namespace

Result<Dataset> load_cifar10(const std::string& directory, Split split) {
  const std::vector<std::string> files = files_of(directory, split);
  if (files.empty())
    return fail(ErrorCode::kNotFound, "{}: holds no {}", directory,
                split == Split::kTest ? "test.npz or test_batch.bin" : "train*.npz or data_batch_*.bin");
  std::vector<Part> parts;
  for (const std::string& file : files) {
    ESPALIER_ASSIGN(Part part, file.ends_with(".npz") ? read_part_npz(file) : read_part_bin(file));
    parts.push_back(std::move(part));
  }
  Part whole = parts.size() == 1 ? std::move(parts[0]) : joined(parts);
  Dataset data;
  data.name = "cifar10";
  data.images = std::move(whole.images);
  data.labels = std::move(whole.labels);
  data.preprocess = {.mean = {0.485F, 0.456F, 0.406F}, .std = {0.229F, 0.224F, 0.225F}};
  return data;
}

}  // namespace espalier::data
