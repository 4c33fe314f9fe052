#include "base/memory_size.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace espalier {
namespace {

// "max", an absent file and numbers beyond 63 bits mean no limit.
std::int64_t control_group_limit(const char* path) {
  std::int64_t bytes = 0;
  std::ifstream file(path);
  return file >> bytes && bytes > 0 ? bytes : std::numeric_limits<std::int64_t>::max();
}

std::int64_t read_memory_size() {
  const std::int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  const std::int64_t machine = pages > 0 && page > 0 ? pages * page : std::numeric_limits<std::int64_t>::max();
  return std::min({machine, control_group_limit("/sys/fs/cgroup/memory.max"),
                   control_group_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
}

}  // namespace

std::int64_t memory_size() {
  static const std::int64_t bytes = read_memory_size();
  return bytes;
}

}  // namespace espalier
