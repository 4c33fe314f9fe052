// A program of a user of the full library.
#include <cstdio>
#include <espalier/tensor.hpp>
#include <espalier/version.hpp>

int main() {
  const espalier::Tensor tensor(espalier::DType::kF32, {2, 3});
  std::printf("espalier %s, %lld elements\n", espalier::version(), static_cast<long long>(tensor.count()));
  return tensor.count() == 6 ? 0 : 1;
}
