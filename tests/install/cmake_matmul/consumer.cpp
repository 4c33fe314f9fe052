// A program of a user of espalier::matmul.
#include <cstdio>
#include <cstring>
#include <espalier/executor.hpp>
#include <espalier/version.hpp>

int main() {
  if (std::strcmp(espalier::version(), ESPALIER_VERSION_STRING) != 0) return 1;
  std::printf("espalier %s, %d cores\n", espalier::version(), espalier::available_cores());
  return 0;
}
