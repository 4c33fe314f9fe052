#include "base/file_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/fail.hpp"

namespace espalier {

namespace {

// Where a symbolic link leads, so that the file is replaced and not the link.
std::string behind_links(const std::string& path) {
  char* const real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string result = real;
  std::free(real);
  return result;
}

}  // namespace

Result<FileWriter> FileWriter::create(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  struct stat target {};
  const bool exists = ::stat(path.c_str(), &target) == 0;
  if (exists && S_ISDIR(target.st_mode)) return fail(ErrorCode::kIo, "{}: cannot be written: is a directory", path);
  if (exists && !S_ISREG(target.st_mode)) {  // a pipe or device is written to, not replaced
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return fail(ErrorCode::kIo, "{}: cannot be written: {}", path, std::strerror(errno));
    return FileWriter(path, {}, fd);
  }
  const std::string real = exists ? behind_links(path) : path;
  std::string temporary = fmt::format("{}.{}.{}.tmp", real, ::getpid(), counter++);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return fail(ErrorCode::kIo, "{}: cannot be written: {}", path, std::strerror(errno));
  if (exists) (void)::fchmod(fd, target.st_mode & 07777);
  return FileWriter(real, std::move(temporary), fd);
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)),
      position_(other.position_) {}

FileWriter::~FileWriter() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

Status FileWriter::write(const void* data, std::size_t bytes) {
  constexpr std::size_t kMaxChunk = std::size_t{1} << 30;  // write() takes at most 2 GB
  const auto* next = static_cast<const std::byte*>(data);
  while (bytes != 0) {
    const ssize_t written = ::write(fd_, next, std::min(bytes, kMaxChunk));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(ErrorCode::kIo, "{}: cannot be written: {}", path_, std::strerror(errno));
    next += written;
    bytes -= static_cast<std::size_t>(written);
    position_ += written;
  }
  return {};
}

Status FileWriter::pad_to(std::int64_t alignment) {
  constexpr std::array<std::byte, 4096> kZeros{};
  std::int64_t missing = (alignment - position_ % alignment) % alignment;
  while (missing != 0) {
    const std::int64_t chunk = std::min<std::int64_t>(missing, kZeros.size());
    ESPALIER_TRY(write(kZeros.data(), static_cast<std::size_t>(chunk)));
    missing -= chunk;
  }
  return {};
}

Status FileWriter::commit() {
  const int fd = std::exchange(fd_, -1);
  // Without the sync a power cut could leave the new name with old or no bytes.
  const bool synced = ::fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;  // a pipe or device cannot
  const bool closed = ::close(fd) == 0;
  if (synced && closed && temporary_.empty()) return {};
  if (synced && closed && std::rename(temporary_.c_str(), path_.c_str()) == 0) return {};
  const int reason = errno;
  if (!temporary_.empty()) std::remove(temporary_.c_str());
  return fail(ErrorCode::kIo, "{}: cannot be written: {}", path_, std::strerror(reason));
}

}  // namespace espalier
