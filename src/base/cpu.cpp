#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <espalier/cpu.hpp>
#include <fstream>

#include "base/fail.hpp"
#include "base/hypervisor.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace espalier {
namespace {

constexpr std::string_view kIsaNames[] = {"scalar", "avx2", "avx512", "vnni", "amx"};

struct FeatureName {
  bool CpuFeatures::*bit;
  const char* name;
};
constexpr FeatureName kFeatureNames[] = {
    {&CpuFeatures::avx2, "avx2"},
    {&CpuFeatures::fma, "fma"},
    {&CpuFeatures::f16c, "f16c"},
    {&CpuFeatures::avx512f, "avx512f"},
    {&CpuFeatures::avx512bw, "avx512bw"},
    {&CpuFeatures::avx512dq, "avx512dq"},
    {&CpuFeatures::avx512vl, "avx512vl"},
    {&CpuFeatures::avx512cd, "avx512cd"},
    {&CpuFeatures::avx512vnni, "avx512_vnni"},
    {&CpuFeatures::avx512vbmi, "avx512_vbmi"},
    {&CpuFeatures::avx512vbmi2, "avx512_vbmi2"},
    {&CpuFeatures::avx512bf16, "avx512_bf16"},
    {&CpuFeatures::avx512fp16, "avx512_fp16"},
    {&CpuFeatures::amx_tile, "amx_tile"},
    {&CpuFeatures::amx_bf16, "amx_bf16"},
    {&CpuFeatures::amx_int8, "amx_int8"},
};

#if defined(__x86_64__)
CpuidValues read_cpuid() {
  CpuidValues values;
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) values.leaf1_ecx = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
    values.leaf7_ebx = ebx;
    values.leaf7_ecx = ecx;
    values.leaf7_edx = edx;
    if (eax >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) values.leaf7_1_eax = eax;
  }
  constexpr std::uint32_t kOsxsave = 1U << 27;
  if ((values.leaf1_ecx & kOsxsave) != 0) {
    std::uint32_t low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    values.xcr0 = (static_cast<std::uint64_t>(high) << 32) | low;
  }
  return values;
}

// Linux hands out the AMX state only on request; threads started later inherit the permission.
bool request_amx() {
  constexpr long kArchReqXcompPerm = 0x1023;
  constexpr long kXfeatureXtiledata = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtiledata) == 0;
}
#endif

CpuFeatures probe() {
#if defined(__x86_64__)
  CpuFeatures features = detect_features(read_cpuid());
  if (features.amx_tile && !request_amx()) features.amx_tile = features.amx_bf16 = features.amx_int8 = false;
  return features;
#else
  return {};
#endif
}

Isa ceiling_from_environment() {
  const char* text = std::getenv("ESPALIER_ISA");
  if (text == nullptr) return Isa::kAmx;
  const auto isa = parse_isa(text);
  return isa ? *isa : Isa::kAmx;
}

std::atomic<Isa>& ceiling() {
  static std::atomic<Isa> value{ceiling_from_environment()};
  return value;
}

std::int64_t read_cache_bytes(int index) {
  char path[96];
  std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
  std::ifstream file(path);
  std::int64_t size = 0;
  char unit = 0;
  if (!(file >> size)) return 0;
  file >> unit;
  return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
}

}  // namespace

std::string_view to_string(Isa isa) noexcept { return kIsaNames[static_cast<int>(isa)]; }

Result<Isa> parse_isa(std::string_view text) {
  for (int i = 0; i < 5; ++i)
    if (kIsaNames[i] == text) return static_cast<Isa>(i);
  return fail(ErrorCode::kInvalidArgument, "unknown instruction set '{}': expected scalar, avx2, avx512, vnni or amx",
              text);
}

Isa best_isa(const CpuFeatures& f) noexcept {
  if (!(f.avx2 && f.fma && f.f16c)) return Isa::kScalar;
  if (!(f.avx512f && f.avx512bw && f.avx512dq && f.avx512vl && f.avx512cd)) return Isa::kAvx2;
  if (!f.avx512vnni) return Isa::kAvx512;
  const bool amx = f.amx_tile && f.amx_bf16 && f.amx_int8 && f.avx512vbmi && f.avx512vbmi2 && f.avx512bf16;
  return amx ? Isa::kAmx : Isa::kVnni;
}

CpuFeatures features_under(const CpuFeatures& features, Isa ceiling) noexcept {
  CpuFeatures left = features;
  if (ceiling < Isa::kAmx) left.amx_tile = left.amx_bf16 = left.amx_int8 = false;
  if (ceiling < Isa::kVnni)
    left.avx512vnni = left.avx512vbmi = left.avx512vbmi2 = left.avx512bf16 = left.avx512fp16 = false;
  if (ceiling < Isa::kAvx512) left.avx512f = left.avx512bw = left.avx512dq = left.avx512vl = left.avx512cd = false;
  if (ceiling < Isa::kAvx2) left.avx2 = left.fma = left.f16c = false;
  return left;
}

std::vector<std::string> feature_names(const CpuFeatures& features) {
  std::vector<std::string> names;
  for (const FeatureName& feature : kFeatureNames)
    if (features.*feature.bit) names.emplace_back(feature.name);
  return names;
}

CpuFeatures detect_features(const CpuidValues& v) noexcept {
  const auto bit = [](std::uint64_t word, int n) { return ((word >> n) & 1U) != 0; };
  const bool xsave = bit(v.leaf1_ecx, 27);
  const bool ymm_saved = xsave && (v.xcr0 & 0x6U) == 0x6U;
  const bool zmm_saved = ymm_saved && (v.xcr0 & 0xe0U) == 0xe0U;
  const bool tiles_saved = xsave && (v.xcr0 & 0x60000U) == 0x60000U;
  CpuFeatures f;
  f.fma = ymm_saved && bit(v.leaf1_ecx, 12);
  f.f16c = ymm_saved && bit(v.leaf1_ecx, 29);
  f.avx2 = ymm_saved && bit(v.leaf7_ebx, 5);
  f.avx512f = zmm_saved && bit(v.leaf7_ebx, 16);
  f.avx512dq = zmm_saved && bit(v.leaf7_ebx, 17);
  f.avx512cd = zmm_saved && bit(v.leaf7_ebx, 28);
  f.avx512bw = zmm_saved && bit(v.leaf7_ebx, 30);
  f.avx512vl = zmm_saved && bit(v.leaf7_ebx, 31);
  f.avx512vbmi = zmm_saved && bit(v.leaf7_ecx, 1);
  f.avx512vbmi2 = zmm_saved && bit(v.leaf7_ecx, 6);
  f.avx512vnni = zmm_saved && bit(v.leaf7_ecx, 11);
  f.avx512fp16 = zmm_saved && bit(v.leaf7_edx, 23);
  f.avx512bf16 = zmm_saved && bit(v.leaf7_1_eax, 5);
  f.amx_bf16 = tiles_saved && bit(v.leaf7_edx, 22);
  f.amx_tile = tiles_saved && bit(v.leaf7_edx, 24);
  f.amx_int8 = tiles_saved && bit(v.leaf7_edx, 25);
  return f;
}

const CpuFeatures& machine_features() {
  static const CpuFeatures features = probe();
  return features;
}

bool under_hypervisor(const CpuidValues& values) noexcept { return (values.leaf1_ecx >> 31) != 0; }

bool under_hypervisor() {
  static const bool here = under_hypervisor(read_cpuid());
  return here;
}

Isa active_isa() { return std::min(best_isa(machine_features()), ceiling().load(std::memory_order_relaxed)); }

CpuFeatures active_features() { return features_under(machine_features(), active_isa()); }

void set_isa_ceiling(Isa isa) { ceiling().store(isa, std::memory_order_relaxed); }

const CacheSizes& cache_sizes() {
  static const CacheSizes sizes{read_cache_bytes(0), read_cache_bytes(2), read_cache_bytes(3)};
  return sizes;
}

}  // namespace espalier
