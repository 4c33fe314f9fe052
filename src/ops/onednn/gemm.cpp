#include "ops/onednn/gemm.hpp"

#include <espalier/cpu.hpp>

#include "ops/onednn/dense_primitive.hpp"

#if ESPALIER_WITH_ONEDNN
#include <dnnl.hpp>
#endif

namespace espalier::ops {

#if ESPALIER_WITH_ONEDNN

bool gemm(const GemmSpec& spec, const float* a, const float* b, float* y) {
  if (!dense_available()) return false;
  const DenseThreads threads(spec.threads);
  const std::int64_t lda = spec.trans_a ? spec.m : spec.k, ldb = spec.trans_b ? spec.k : spec.n;
  return dnnl::sgemm(spec.trans_a ? 'T' : 'N', spec.trans_b ? 'T' : 'N', spec.m, spec.n, spec.k, spec.alpha, a, lda, b,
                     ldb, spec.beta, y, spec.n) == dnnl::status::success;
}

bool integer_gemm(const IntegerGemmSpec& spec, const void* a, const std::int8_t* b, std::int32_t* y) {
  const std::int32_t low = spec.a_signed ? -128 : 0, high = spec.a_signed ? 127 : 255;
  const bool representable = spec.a_zero >= low && spec.a_zero <= high && spec.b_zero >= -128 && spec.b_zero <= 127;
  if (!dense_available() || active_isa() < Isa::kVnni || !representable) return false;
  const DenseThreads threads(spec.threads);
  const auto b_zero = static_cast<std::int8_t>(spec.b_zero);
  constexpr std::int32_t kNoOffset = 0;
  const char b_form = spec.trans_b ? 'T' : 'N';
  const std::int64_t ldb = spec.trans_b ? spec.k : spec.n;
  if (spec.a_signed)
    return dnnl::gemm_s8s8s32('N', b_form, 'F', spec.m, spec.n, spec.k, 1.0F, static_cast<const std::int8_t*>(a),
                              spec.k, static_cast<std::int8_t>(spec.a_zero), b, ldb, b_zero, 0.0F, y, spec.n,
                              &kNoOffset) == dnnl::status::success;
  return dnnl::gemm_u8s8s32('N', b_form, 'F', spec.m, spec.n, spec.k, 1.0F, static_cast<const std::uint8_t*>(a), spec.k,
                            static_cast<std::uint8_t>(spec.a_zero), b, ldb, b_zero, 0.0F, y, spec.n,
                            &kNoOffset) == dnnl::status::success;
}

#else

bool gemm(const GemmSpec&, const float*, const float*, float*) { return false; }
bool integer_gemm(const IntegerGemmSpec&, const void*, const std::int8_t*, std::int32_t*) { return false; }

#endif

}  // namespace espalier::ops
