// The sampled products for AVX-512. Register budget of the largest tiles: 16x1 takes 16 + 1, row1x1 16 + 4 + 1 of 32.
#include "kernels/sddmm/sddmm_f32.hpp"
#include "kernels/sddmm/sddmm_loop.hpp"
#include "kernels/spmm_f32/vector_avx512.hpp"

namespace espalier::kernels {
namespace {

struct Lanes : Vector512 {
  static Reg load_halves(const float* low, const float* high) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(low)), _mm256_loadu_ps(high), 1);
  }
  static void store_low(float* p, Reg v) { _mm256_storeu_ps(p, _mm512_castps512_ps256(v)); }
  static void store_high(float* p, Reg v) { _mm256_storeu_ps(p, _mm512_extractf32x8_ps(v, 1)); }
  // Lane i: the sum of row i's lanes. Halves the number of registers four times: 30 shuffles and 15 additions.
  static Reg sum_rows(Reg (&rows)[16]) {
    Reg pairs[8], fours[4];
    for (int i = 0; i < 8; ++i)
      pairs[i] =
          add(_mm512_unpacklo_ps(rows[2 * i], rows[2 * i + 1]), _mm512_unpackhi_ps(rows[2 * i], rows[2 * i + 1]));
    for (int i = 0; i < 4; ++i)
      fours[i] = add(_mm512_shuffle_ps(pairs[2 * i], pairs[2 * i + 1], 0x44),
                     _mm512_shuffle_ps(pairs[2 * i], pairs[2 * i + 1], 0xee));
    const Reg low = add_quarters(fours[0], fours[1]), high = add_quarters(fours[2], fours[3]);
    return add_quarters(low, high);
  }

 private:
  static Reg add_quarters(Reg a, Reg b) {
    return add(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
  }
};

}  // namespace

void sddmm_f32_blk8x32_8x2v_avx512(const SddmmArgs& args) { run_panels<Lanes, 8, 2>(args); }
void sddmm_f32_blk16x16_16x1v_avx512(const SddmmArgs& args) { run_panels<Lanes, 16, 1>(args); }
void sddmm_f32_blk8x16_8x1v_avx512(const SddmmArgs& args) { run_panels<Lanes, 8, 1>(args); }
void sddmm_f32_half8x8_8x2v_avx512(const SddmmArgs& args) { run_half_panels<Lanes, 8, 2>(args); }
void sddmm_f32_row4x1_4x4_avx512(const SddmmArgs& args) { run_rows<Lanes, 4>(args); }
void sddmm_f32_row2x1_2x8_avx512(const SddmmArgs& args) { run_rows<Lanes, 2>(args); }
void sddmm_f32_row1x1_1x16_avx512(const SddmmArgs& args) { run_rows<Lanes, 1>(args); }

}  // namespace espalier::kernels
