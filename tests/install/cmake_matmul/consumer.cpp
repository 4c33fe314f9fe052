// A program of a user of espalier::matmul.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <espalier/matmul.hpp>
#include <espalier/version.hpp>
#include <vector>

namespace es = espalier;

int main() {
  if (std::strcmp(es::version(), ESPALIER_VERSION_STRING) != 0) return 1;
  const std::vector<std::int32_t> indptr{0, 1, 2}, indices{0, 1};
  const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8}, x{1, 2, 3, 4};
  std::vector<float> y(4);
  const auto w = es::view_bsr(indptr, indices, values, {.rows = 4, .cols = 4, .block = {2, 2}});
  if (!w) return 1;
  const auto plan = es::plan_matmul(*w, {.n = 1});
  if (!plan || !plan->run({x.data(), 4, 1}, {y.data(), 4, 1})) return 1;
  if (y != std::vector<float>{5, 11, 39, 53}) return 1;
  // With the library's own tensors too.
  const es::Tensor in = es::Tensor::of<float>({4, 1}, {1, 2, 3, 4});
  es::Tensor out(es::DType::kF32, {4, 1});
  if (!plan->run(in, out) || out.values<float>()[3] != 53) return 1;
  std::printf("espalier %s, %d cores\n%s", es::version(), es::available_cores(), plan->explain().c_str());
  return 0;
}
