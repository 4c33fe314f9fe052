// Fashion-MNIST (Xiao, Rasul, Vollgraf) in the IDX format of MNIST: big-endian magic 0x0803 (images) or 0x0801
// (labels), the sizes as 32-bit numbers, then bytes. Compressed with gzip.
#include <zlib.h>

#include <array>
#include <filesystem>

#include "base/fail.hpp"
#include "data/sources.hpp"

namespace espalier::data {

namespace {

constexpr std::int64_t kMaxExamples = 1 << 20, kMaxSide = 1 << 12;

// A gzip file that is read from front to back; plain files are read too.
class GzipReader {
 public:
  explicit GzipReader(const std::string& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {}
  ~GzipReader() {
    if (file_ != nullptr) gzclose(file_);
  }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  bool opened() const { return file_ != nullptr; }

  Status read(void* target, std::int64_t bytes) {
    auto* at = static_cast<std::uint8_t*>(target);
    std::int64_t left = bytes;
    while (left > 0) {
      const auto chunk = static_cast<unsigned>(std::min<std::int64_t>(left, 1 << 24));
      const int got = gzread(file_, at, chunk);
      if (got <= 0)
        return fail(ErrorCode::kInvalidData, "{}: ends {} bytes early after {} bytes of its contents", path_, left,
                    position_);
      at += got;
      left -= got;
      position_ += got;
    }
    return {};
  }

  Result<std::int64_t> read_big_endian() {
    std::array<std::uint8_t, 4> bytes{};
    ESPALIER_TRY(read(bytes.data(), 4));
    return (std::int64_t{bytes[0]} << 24) | (bytes[1] << 16) | (bytes[2] << 8) | bytes[3];
  }

 private:
  std::string path_;
  gzFile file_;
  std::int64_t position_ = 0;
};

// `rank` 3: images, 1: labels.
Result<Tensor> read_idx(const std::string& path, int rank) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return fail(ErrorCode::kNotFound, "{}: no such file; on Debian, install the package dataset-fashion-mnist", path);
  GzipReader reader(path);
  if (!reader.opened()) return fail(ErrorCode::kIo, "{}: cannot be opened", path);
  ESPALIER_ASSIGN(const std::int64_t magic, reader.read_big_endian());
  if (magic != 0x0800 + rank)
    return fail(ErrorCode::kInvalidData, "{}: starts with {:#x}, expected {:#x} (bytes of rank {})", path, magic,
                0x0800 + rank, rank);
  Shape shape;
  for (int i = 0; i < rank; ++i) {
    ESPALIER_ASSIGN(const std::int64_t size, reader.read_big_endian());
    if (size > (i == 0 ? kMaxExamples : kMaxSide))
      return fail(ErrorCode::kLimit, "{}: declares a size of {}, above the limit", path, size);
    shape.push_back(size);
  }
  Tensor tensor = Tensor::uninitialized(DType::kU8, shape);
  ESPALIER_TRY(reader.read(tensor.raw(), tensor.count()));
  return tensor;
}

}  // namespace

Result<Dataset> load_fashion_mnist(const std::string& directory, Split split) {
  const std::string stem = directory + (split == Split::kTest ? "/t10k" : "/train");
  ESPALIER_ASSIGN(const Tensor images, read_idx(stem + "-images-idx3-ubyte.gz", 3));
  ESPALIER_ASSIGN(const Tensor labels, read_idx(stem + "-labels-idx1-ubyte.gz", 1));
  if (images.dim(0) != labels.dim(0))
    return fail(ErrorCode::kInvalidData, "{}: {} images but {} labels", directory, images.dim(0), labels.dim(0));
  Dataset data;
  data.name = "fashion-mnist";
  data.images = images.reshaped({images.dim(0), images.dim(1), images.dim(2), 1});
  data.preprocess = {.mean = {0.2860F}, .std = {0.3530F}};
  ESPALIER_ASSIGN(data.labels, labels_from(labels, directory));
  return data;
}

}  // namespace espalier::data
