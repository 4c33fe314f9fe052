// OpenBLAS through cblas_sgemm, opened by name.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "peers/product_peer.hpp"
#include "peers/shared_object.hpp"

namespace espalier::peers {
namespace {

using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a, int lda,
                       const float* b, int ldb, float beta, float* c, int ldc);
using SetThreads = void (*)(int);
using GetConfig = const char* (*)();

constexpr int kRowMajor = 101, kNoTrans = 111;

// OpenBLAS knows processors by model number and falls to its oldest kernels on one that it does not know, or whose
// number a hypervisor hides. Unless the user chose, it is told the family that the features allow.
void* open_at_its_best() {
  const Isa isa = best_isa(machine_features());
  if (isa >= Isa::kAvx512)
    setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  else if (isa >= Isa::kAvx2)
    setenv("OPENBLAS_CORETYPE", "Haswell", 0);
  return open_first({"libopenblas.so.0", "libopenblas.so"});
}

}  // namespace

std::vector<ProductPeer> openblas(const DenseProblem& p) {
  static void* const object = open_at_its_best();
  if (p.type != DType::kF32) return {};
  if (object == nullptr || std::max({p.m, p.k, p.n}) > 2147483647) return {};
  const auto sgemm = reinterpret_cast<Sgemm>(symbol(object, "cblas_sgemm"));
  const auto set_threads = reinterpret_cast<SetThreads>(symbol(object, "openblas_set_num_threads"));
  const auto config = reinterpret_cast<GetConfig>(symbol(object, "openblas_get_config"));
  if (sgemm == nullptr || set_threads == nullptr) return {};
  const std::string version = config != nullptr ? config() : "";
  return {{"openblas", version, [=] {
             const int m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
             set_threads(p.threads);
             sgemm(kRowMajor, kNoTrans, kNoTrans, m, n, k, 1.0F, static_cast<const float*>(p.w), std::max(k, 1),
                   static_cast<const float*>(p.x), std::max(n, 1), 0.0F, static_cast<float*>(p.y), std::max(n, 1));
           }}};
}

}  // namespace espalier::peers
