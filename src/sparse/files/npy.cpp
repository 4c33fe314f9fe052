#include "sparse/files/npy.hpp"

#include <algorithm>
#include <espalier/files.hpp>

#include "base/file_writer.hpp"
#include "base/mapped_file.hpp"
#include "sparse/bits.hpp"
#include "sparse/files/npy_header.hpp"

namespace espalier::files {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

Result<std::string_view> take_header_text(ByteCursor& cursor, std::string_view where) {
  ESPALIER_ASSIGN(const Bytes magic, cursor.take(kMagic.size(), "the .npy magic"));
  if (std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0)
    return fail(ErrorCode::kInvalidData, "{}: at byte 0: expected the .npy magic \\x93NUMPY, found other bytes", where);
  ESPALIER_ASSIGN(const auto major, cursor.number<std::uint8_t>("the .npy version"));
  ESPALIER_ASSIGN(const auto minor, cursor.number<std::uint8_t>("the .npy version"));
  if (major < 1 || major > 3 || minor != 0)
    return fail(ErrorCode::kUnsupported, "{}: .npy version {}.{}: expected 1.0, 2.0 or 3.0", where, major, minor);
  std::uint32_t length = 0;
  if (major == 1) {
    ESPALIER_ASSIGN(length, cursor.number<std::uint16_t>("the header length"));
  } else {
    ESPALIER_ASSIGN(length, cursor.number<std::uint32_t>("the header length"));
  }
  ESPALIER_ASSIGN(const Bytes text, cursor.take(length, "the header"));
  return std::string_view(reinterpret_cast<const char*>(text.data()), text.size());
}

// Copies column-major elements to row-major order.
template <typename Bits>
void copy_fortran_order(const std::byte* source, const Shape& shape, Bits* out) {
  Shape stride(shape.size());  // in elements of the source
  std::int64_t step = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    stride[axis] = step;
    step *= shape[axis];
  }
  Shape index(shape.size());
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < step; ++i) {
    out[i] = load<Bits>(source + at * static_cast<std::int64_t>(sizeof(Bits)));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      at += stride[axis];
      if (++index[axis] < shape[axis]) break;
      at -= stride[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

Result<Tensor> parse_npy(Bytes bytes, std::string_view where) {
  ByteCursor cursor(bytes, where);
  ESPALIER_ASSIGN(const std::string_view text, take_header_text(cursor, where));
  ESPALIER_ASSIGN(const NpyHeader header, parse_npy_header(text, where));
  ESPALIER_ASSIGN(const std::int64_t count, checked_element_count(header.shape));
  std::int64_t size = 0;
  if (__builtin_mul_overflow(count, static_cast<std::int64_t>(size_of(header.dtype)), &size))
    return fail(ErrorCode::kLimit, "{}: .npy of shape {} has more than 2^63 bytes", where, to_string(header.shape));
  ESPALIER_ASSIGN(const Bytes elements, cursor.take(static_cast<std::uint64_t>(size), "the elements"));
  if (cursor.left() != 0)
    return fail(ErrorCode::kInvalidData, "{}: at byte {}: expected the end after shape {} of {}, found {} more bytes",
                where, cursor.position(), to_string(header.shape), to_string(header.dtype), cursor.left());
  Tensor tensor = Tensor::uninitialized(header.dtype, header.shape);
  if (header.fortran_order && count != 0) {
    sparse::dispatch_bits(header.dtype, [&](auto zero) {
      using Bits = decltype(zero);
      copy_fortran_order(elements.data(), header.shape, static_cast<Bits*>(tensor.raw()));
    });
  } else if (!elements.empty()) {
    std::memcpy(tensor.raw(), elements.data(), elements.size());
  }
  if (header.dtype == DType::kBool) {  // any byte but 0 is true; C++ knows 0 and 1 only
    auto* flags = static_cast<std::uint8_t*>(tensor.raw());
    std::transform(flags, flags + count, flags, [](std::uint8_t flag) { return static_cast<std::uint8_t>(flag != 0); });
  }
  return tensor;
}

std::string npy_header(DType dtype, const Shape& shape) {
  std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", npy_descr(dtype),
                                       fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr std::size_t kPrefix = 10;  // magic, version, 16-bit length: 64 sizes always fit
  const std::size_t end = (kPrefix + dictionary.size() + 1 + 63) / 64 * 64;
  dictionary.resize(end - kPrefix - 1, ' ');
  dictionary += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\x00';
  header += static_cast<char>(dictionary.size() & 0xff);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

}  // namespace espalier::files

namespace espalier {

Result<Tensor> read_npy(const std::string& path) {
  ESPALIER_ASSIGN(const MappedFile file, MappedFile::open(path));
  return files::parse_npy({file.data(), file.size()}, path);
}

Status write_npy(const std::string& path, const Tensor& tensor) {
  if (!tensor.defined()) return fail(ErrorCode::kInvalidArgument, "{}: write_npy needs a tensor, found none", path);
  ESPALIER_ASSIGN(FileWriter writer, FileWriter::create(path));
  const std::string header = files::npy_header(tensor.dtype(), tensor.shape());
  ESPALIER_TRY(writer.write(header.data(), header.size()));
  ESPALIER_TRY(writer.write(tensor.raw(), tensor.bytes()));
  return writer.commit();
}

}  // namespace espalier
