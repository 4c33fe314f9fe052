// A whole file mapped read-only into memory. Copies share the mapping, which lives until the last copy (and every
// Tensor that shares `owner()`) is gone. Pages are read when touched. A file that another program truncates while it is
// mapped cannot be read safely; writers must replace files, not overwrite them (see FileWriter).
#pragma once

#include <cstddef>
#include <espalier/status.hpp>
#include <memory>
#include <string>

namespace espalier {

class MappedFile {
 public:
  // Errors: kNotFound, or kIo with the path and the system's reason. An empty file maps to size 0.
  static Result<MappedFile> open(const std::string& path);

  const std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  // Keeps the mapping alive and points at its byte `offset`.
  std::shared_ptr<const void> owner(std::size_t offset = 0) const { return {data_, data_.get() + offset}; }

 private:
  MappedFile(std::shared_ptr<const std::byte> data, std::size_t size) : data_(std::move(data)), size_(size) {}

  std::shared_ptr<const std::byte> data_;
  std::size_t size_ = 0;
};

}  // namespace espalier
