#include "base/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fail.hpp"

namespace espalier {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0)
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, "{}: cannot be opened: {}", path,
                std::strerror(errno));
  struct stat info = {};
  if (::fstat(file.get(), &info) != 0)
    return fail(ErrorCode::kIo, "{}: cannot be examined: {}", path, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return fail(ErrorCode::kIo, "{}: expected a regular file", path);
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return MappedFile(nullptr, 0);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED)  // NOLINT(performance-no-int-to-ptr): the system's own macro
    return fail(ErrorCode::kIo, "{}: cannot be mapped: {}", path, std::strerror(errno));
  const auto unmap = [size](const std::byte* data) { ::munmap(const_cast<std::byte*>(data), size); };
  return MappedFile(std::shared_ptr<const std::byte>(static_cast<const std::byte*>(address), unmap), size);
}

}  // namespace espalier
