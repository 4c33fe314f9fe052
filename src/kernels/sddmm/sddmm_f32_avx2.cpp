// The sampled products for AVX2. Register budget of the largest tiles: 4x2 takes 8 + 2 + 1 of 16, row1x1 8 + 4 + 1.
#include "kernels/sddmm/sddmm_f32.hpp"
#include "kernels/sddmm/sddmm_loop.hpp"
#include "kernels/spmm_f32/vector_avx2.hpp"

namespace espalier::kernels {
namespace {

struct Lanes : Vector256 {
  static Reg load_halves(const float* low, const float* high) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
  }
  static void store_low(float* p, Reg v) { _mm_storeu_ps(p, _mm256_castps256_ps128(v)); }
  static void store_high(float* p, Reg v) { _mm_storeu_ps(p, _mm256_extractf128_ps(v, 1)); }
  // Lane i: the sum of row i's lanes.
  static Reg sum_rows(Reg (&rows)[8]) {
    const Reg low = _mm256_hadd_ps(_mm256_hadd_ps(rows[0], rows[1]), _mm256_hadd_ps(rows[2], rows[3]));
    const Reg high = _mm256_hadd_ps(_mm256_hadd_ps(rows[4], rows[5]), _mm256_hadd_ps(rows[6], rows[7]));
    return add(_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31));
  }
};

}  // namespace

void sddmm_f32_blk4x16_4x2v_avx2(const SddmmArgs& args) { run_panels<Lanes, 4, 2>(args); }
void sddmm_f32_blk8x8_8x1v_avx2(const SddmmArgs& args) { run_panels<Lanes, 8, 1>(args); }
void sddmm_f32_half4x4_4x2v_avx2(const SddmmArgs& args) { run_half_panels<Lanes, 4, 2>(args); }
void sddmm_f32_row4x1_4x2_avx2(const SddmmArgs& args) { run_rows<Lanes, 4>(args); }
void sddmm_f32_row2x1_2x4_avx2(const SddmmArgs& args) { run_rows<Lanes, 2>(args); }
void sddmm_f32_row1x1_1x8_avx2(const SddmmArgs& args) { run_rows<Lanes, 1>(args); }

}  // namespace espalier::kernels
