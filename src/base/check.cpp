#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace espalier {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "espalier: internal error: %s does not hold (%s:%d). Please report this.\n", condition, file,
               line);
  std::abort();
}

}  // namespace espalier
