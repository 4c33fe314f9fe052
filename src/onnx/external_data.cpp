#include "onnx/external_data.hpp"

#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/fail.hpp"
#include "onnx/proto.hpp"

namespace espalier::onnx_io {
namespace {

struct Place {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

Result<std::uint64_t> parse_number(const std::string& tensor, const std::string& key, const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(ErrorCode::kInvalidData, "tensor '{}': external data '{}' must be a byte count, found '{}'", tensor,
                key, text);
  return value;
}

Result<Place> parse_place(const onnx::TensorProto& proto) {
  Place place;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") {
      place.location = entry.value();
    } else if (entry.key() == "offset") {
      ESPALIER_ASSIGN(place.offset, parse_number(proto.name(), "offset", entry.value()));
    } else if (entry.key() == "length") {
      ESPALIER_ASSIGN(place.length, parse_number(proto.name(), "length", entry.value()));
    }
  }
  return place;
}

// Lexically inside: links that the user placed in the directory are followed.
bool stays_inside(const std::string& location) {
  if (location.empty() || location.find('\0') != std::string::npos) return false;
  const std::filesystem::path path = std::filesystem::path(location).lexically_normal();
  return path.is_relative() && !path.empty() && *path.begin() != "..";
}

}  // namespace

Result<MappedFile> ExternalData::open(const std::string& tensor, const std::string& location) {
  if (!stays_inside(location))
    return fail(ErrorCode::kInvalidData,
                "tensor '{}': external data location '{}' must be a file in the model's directory", tensor, location);
  if (const auto known = files_.find(location); known != files_.end()) return known->second;
  auto file = MappedFile::open((std::filesystem::path(directory_) / location).string());
  if (!file) return fail(file.error().code, "tensor '{}': external data {}", tensor, file.error().message);
  files_.emplace(location, *file);
  return file;
}

Result<Tensor> ExternalData::read(const onnx::TensorProto& proto, DType dtype, const Shape& shape) {
  ESPALIER_ASSIGN(const Place place, parse_place(proto));
  ESPALIER_ASSIGN(const MappedFile file, open(proto.name(), place.location));
  ESPALIER_ASSIGN(const std::int64_t count, checked_element_count(shape));
  const std::uint64_t size = size_of(dtype);
  const auto elements = static_cast<std::uint64_t>(count);
  if (place.offset > file.size() || elements > (file.size() - place.offset) / size)
    return fail(ErrorCode::kInvalidData,
                "tensor '{}': external data '{}' has {} bytes, but {}[{}] at offset {} needs more", proto.name(),
                place.location, file.size(), to_string(dtype), to_string(shape), place.offset);
  if (place.length && *place.length != elements * size)
    return fail(ErrorCode::kInvalidData, "tensor '{}': external data length is {} bytes, but {}[{}] has {}",
                proto.name(), *place.length, to_string(dtype), to_string(shape), elements * size);
  if (elements == 0) return Tensor(dtype, shape);
  const std::byte* begin = file.data() + place.offset;
  if (place.offset % size == 0 && dtype != DType::kBool) return Tensor::shared(dtype, shape, file.owner(place.offset));
  Tensor tensor = Tensor::uninitialized(dtype, shape);
  std::memcpy(tensor.raw(), begin, tensor.bytes());
  return tensor;
}

}  // namespace espalier::onnx_io
