// What the processor can do, as feature bits; never its family or model number.
//
// Detection is a pure function of CPUID and XCR0 values, so that it is tested with injected ones. A ceiling (`Isa`)
// hides features above it: ESPALIER_ISA=scalar|avx2|avx512|vnni|amx in the environment, or set_isa_ceiling.
#pragma once

#include <cstdint>
#include <espalier/export.hpp>
#include <espalier/status.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

// Ascending: each level includes the ones before it.
//   avx2    AVX2 + FMA + F16C
//   avx512  + AVX-512 F, BW, DQ, VL, CD
//   vnni    + AVX-512 VNNI, and VBMI, VBMI2, BF16, FP16 where the machine has them
//   amx     + AMX tile, bf16, int8 and AVX-512 VBMI, VBMI2, BF16
enum class Isa : std::uint8_t { kScalar, kAvx2, kAvx512, kVnni, kAmx };

ESPALIER_API std::string_view to_string(Isa isa) noexcept;
// Error: kInvalidArgument listing the five names.
ESPALIER_API Result<Isa> parse_isa(std::string_view text);

// One bit per feature; see feature_names for their order.
struct CpuFeatures {
  bool avx2 = false, fma = false, f16c = false;
  bool avx512f = false, avx512bw = false, avx512dq = false, avx512vl = false, avx512cd = false;
  bool avx512vnni = false, avx512vbmi = false, avx512vbmi2 = false, avx512bf16 = false, avx512fp16 = false;
  bool amx_tile = false, amx_bf16 = false, amx_int8 = false;

  bool operator==(const CpuFeatures&) const = default;
};

// The highest level whose features are all present.
ESPALIER_API Isa best_isa(const CpuFeatures& features) noexcept;
// What a ceiling leaves of the features: those of its level and of the levels below.
ESPALIER_API CpuFeatures features_under(const CpuFeatures& features, Isa ceiling) noexcept;
// "avx2", "avx512_vnni", ... for the bits that are set.
ESPALIER_API std::vector<std::string> feature_names(const CpuFeatures& features);

// The registers that detection reads: CPUID leaf 1 (ecx), leaf 7.0 (ebx, ecx, edx), leaf 7.1 (eax) and XCR0.
struct CpuidValues {
  std::uint32_t leaf1_ecx = 0;
  std::uint32_t leaf7_ebx = 0, leaf7_ecx = 0, leaf7_edx = 0;
  std::uint32_t leaf7_1_eax = 0;
  std::uint64_t xcr0 = 0;
};
// A feature counts only when the operating system saves its registers (XCR0). Pure.
ESPALIER_API CpuFeatures detect_features(const CpuidValues& values) noexcept;

// This machine's features; AMX is asked of the kernel once (arch_prctl) and absent when refused. Cached.
ESPALIER_API const CpuFeatures& machine_features();
// What may be used now: the machine's best level, lowered by the ceiling.
ESPALIER_API Isa active_isa();
// This machine's features under the ceiling.
ESPALIER_API CpuFeatures active_features();
// Lowers (or restores) the ceiling for the whole process; kernels planned before keep what they were planned with.
ESPALIER_API void set_isa_ceiling(Isa ceiling);

// Bytes; 0 where unknown.
struct CacheSizes {
  std::int64_t l1d = 0, l2 = 0, l3 = 0;
};
ESPALIER_API const CacheSizes& cache_sizes();

}  // namespace espalier
