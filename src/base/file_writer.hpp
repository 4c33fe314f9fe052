// Writes a file so that its name never shows a half-written one: bytes go to a temporary file beside the target, and
// `commit` renames it. Without a commit the temporary file is removed. A symbolic link stays one, permissions stay as they
// were, and what is no regular file (a pipe, /dev/null) is written to directly. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <espalier/status.hpp>
#include <string>

namespace espalier {

class FileWriter {
 public:
  // Errors of all: kIo with the path and the system's reason.
  static Result<FileWriter> create(const std::string& path);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  Status write(const void* data, std::size_t bytes);
  // Zeros up to the next multiple of `alignment`.
  Status pad_to(std::int64_t alignment);
  std::int64_t position() const { return position_; }
  Status commit();

 private:
  FileWriter(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

  std::string path_, temporary_;
  int fd_ = -1;
  std::int64_t position_ = 0;
};

}  // namespace espalier
