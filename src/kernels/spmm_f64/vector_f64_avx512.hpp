// Eight f64 in a zmm register, for the loops of spmm_f32. Include from _avx512.cpp files only.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace espalier::kernels {
namespace {

struct Doubles512 {
  using Reg = __m512d;
  using Element = double;
  using Floats = Doubles512;
  static constexpr std::int64_t kLanes = 8;

  static Reg zero() { return _mm512_setzero_pd(); }
  static Reg load(const double* p) { return _mm512_loadu_pd(p); }
  static Reg broadcast(const double* p) { return _mm512_set1_pd(*p); }
  static void store(double* p, Reg v) { _mm512_storeu_pd(p, v); }
  static Reg load_first(const double* p, int lanes) { return _mm512_maskz_loadu_pd(first(lanes), p); }
  static void store_first(double* p, Reg v, int lanes) { _mm512_mask_storeu_pd(p, first(lanes), v); }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_pd(a, b, c); }
  static Reg add(Reg a, Reg b) { return _mm512_add_pd(a, b); }
  static Reg mul(Reg a, Reg b) { return _mm512_mul_pd(a, b); }
  // When either is a NaN both return the second.
  static Reg min(Reg a, Reg b) { return _mm512_min_pd(a, b); }
  static Reg max(Reg a, Reg b) { return _mm512_max_pd(a, b); }

  static void transpose(Reg (&rows)[8]) {
    Reg t[8];
    for (int i = 0; i < 8; i += 2) {
      t[i] = _mm512_unpacklo_pd(rows[i], rows[i + 1]);
      t[i + 1] = _mm512_unpackhi_pd(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
      for (int j = 0; j < 2; ++j) {
        rows[i + j] = _mm512_shuffle_f64x2(t[i + j], t[i + j + 2], 0x88);
        rows[i + j + 2] = _mm512_shuffle_f64x2(t[i + j], t[i + j + 2], 0xdd);
      }
    for (int i = 0; i < 4; ++i) {
      t[i] = _mm512_shuffle_f64x2(rows[i], rows[i + 4], 0x88);
      t[i + 4] = _mm512_shuffle_f64x2(rows[i], rows[i + 4], 0xdd);
    }
    for (int i = 0; i < 8; ++i) rows[i] = t[i];
  }

 private:
  static __mmask8 first(int lanes) { return static_cast<__mmask8>((1U << lanes) - 1U); }
};

}  // namespace
}  // namespace espalier::kernels
