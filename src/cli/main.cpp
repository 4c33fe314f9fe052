#include <cstdio>
#include <espalier/version.hpp>

int main() {
  std::printf("espalier %s\n", espalier::version());
  return 0;
}
