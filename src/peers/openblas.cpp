// OpenBLAS through cblas_sgemm and cblas_dgemm, opened by name.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "peers/product_peer.hpp"
#include "peers/shared_object.hpp"

namespace espalier::peers {
namespace {

template <typename T>
using Gemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, T alpha, const T* a, int lda,
                      const T* b, int ldb, T beta, T* c, int ldc);
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

template <typename T>
std::vector<ProductPeer> peer_of(const DenseProblem& p, void* object, const char* name) {
  const auto gemm = reinterpret_cast<Gemm<T>>(symbol(object, name));
  const auto set_threads = reinterpret_cast<SetThreads>(symbol(object, "openblas_set_num_threads"));
  const auto config = reinterpret_cast<GetConfig>(symbol(object, "openblas_get_config"));
  if (gemm == nullptr || set_threads == nullptr) return {};
  const std::string version = config != nullptr ? config() : "";
  return {{"openblas", version, [=] {
             const int m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
             set_threads(p.threads);
             gemm(kRowMajor, kNoTrans, kNoTrans, m, n, k, T{1}, static_cast<const T*>(p.w), std::max(k, 1),
                  static_cast<const T*>(p.x), std::max(n, 1), T{0}, static_cast<T*>(p.y), std::max(n, 1));
           }}};
}

}  // namespace

std::vector<ProductPeer> openblas(const DenseProblem& p) {
  static void* const object = open_at_its_best();
  if (object == nullptr || std::max({p.m, p.k, p.n}) > 2147483647) return {};
  if (p.type == DType::kF32) return peer_of<float>(p, object, "cblas_sgemm");
  if (p.type == DType::kF64) return peer_of<double>(p, object, "cblas_dgemm");
  return {};
}

}  // namespace espalier::peers
