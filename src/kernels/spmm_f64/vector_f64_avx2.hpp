// Four f64 in a ymm register, for the loops of spmm_f32. Include from _avx2.cpp files only.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace espalier::kernels {
namespace {

struct Doubles256 {
  using Reg = __m256d;
  using Element = double;
  using Floats = Doubles256;
  static constexpr std::int64_t kLanes = 4;

  static Reg zero() { return _mm256_setzero_pd(); }
  static Reg load(const double* p) { return _mm256_loadu_pd(p); }
  static Reg broadcast(const double* p) { return _mm256_broadcast_sd(p); }
  static void store(double* p, Reg v) { _mm256_storeu_pd(p, v); }
  static Reg load_first(const double* p, int lanes) { return _mm256_maskload_pd(p, first(lanes)); }
  static void store_first(double* p, Reg v, int lanes) { _mm256_maskstore_pd(p, first(lanes), v); }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_pd(a, b, c); }
  static Reg add(Reg a, Reg b) { return _mm256_add_pd(a, b); }
  static Reg mul(Reg a, Reg b) { return _mm256_mul_pd(a, b); }
  // When either is a NaN both return the second.
  static Reg min(Reg a, Reg b) { return _mm256_min_pd(a, b); }
  static Reg max(Reg a, Reg b) { return _mm256_max_pd(a, b); }

  static void transpose(Reg (&rows)[4]) {
    const Reg a = _mm256_unpacklo_pd(rows[0], rows[1]), b = _mm256_unpackhi_pd(rows[0], rows[1]);
    const Reg c = _mm256_unpacklo_pd(rows[2], rows[3]), d = _mm256_unpackhi_pd(rows[2], rows[3]);
    rows[0] = _mm256_permute2f128_pd(a, c, 0x20);
    rows[1] = _mm256_permute2f128_pd(b, d, 0x20);
    rows[2] = _mm256_permute2f128_pd(a, c, 0x31);
    rows[3] = _mm256_permute2f128_pd(b, d, 0x31);
  }

 private:
  static __m256i first(int lanes) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(lanes), _mm256_setr_epi64x(0, 1, 2, 3));
  }
};

}  // namespace
}  // namespace espalier::kernels
