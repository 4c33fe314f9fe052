// The rows of the 2:4 product kernels.
//
// Efficiency counts the kept products only, against the ceiling that binds them: vdpbf16ps, vpdpbusd or f32
// multiply-adds. A shuffle accompanies every multiply-add, and per group of four there is what loads w and makes the
// controls.
#include "kernels/spmm_nm/table.hpp"

#include "kernels/spmm_nm/spmm_nm.hpp"

namespace espalier::kernels {
namespace {

struct Target {
  Isa isa;
  CpuFeatures needs;
  int rows;
};
constexpr Target kAvx2{Isa::kAvx2, {}, 8};
constexpr Target kAvx512{Isa::kAvx512, {}, 16};
constexpr Target kAvx512Bf16{Isa::kAvx512, {.avx512bf16 = true}, 16};
constexpr Target kVnni{Isa::kVnni, {}, 16};

// Two vector operations start per cycle. Products per group and column: one of pairs, two of f32, or four that a pair
// was widened for.
constexpr double efficiency(const Target& target, DType type, int columns) {
  if (type == DType::kI8) {
    // Per dword of two groups; without VNNI widened and in four operations (spmm_int8/table.cpp).
    const double products = columns, around = columns * (target.isa == Isa::kVnni ? 1 : 6) + 3;
    return target.isa == Isa::kVnni ? 0.85 * products / (products + around) : 0.85 * 4 * products / (products + around);
  }
  const bool dot = target.needs.avx512bf16;
  const double products = columns * (type == DType::kF32 ? 2 : (dot ? 1 : 2));
  const double around = columns * (type == DType::kF32 ? 2 : (dot ? 0.3 : 3)) + 3;
  return 0.85 * products / (products + around);
}

constexpr PackXFn pack_x_for(DType type) {
  return type == DType::kF32 ? pack_groups_f32 : (type == DType::kBf16 ? pack_groups_bf16 : pack_groups_int8);
}

constexpr KernelInfo row(std::string_view name, const Target& target, DType type, int columns, SpmmFn run) {
  return {.name = name,
          .isa = target.isa,
          .needs = target.needs,
          .weights = type,
          .x = type == DType::kI8 ? DType::kU8 : type,
          .y = type == DType::kI8 ? DType::kI32 : DType::kF32,
          .pattern = PatternKind::kNm,
          .nm_n = 2,
          .nm_m = 4,
          .tile_rows = target.rows,
          .tile_cols = columns,
          .k_per_row = type == DType::kI8 ? 8 : 4,
          .layout = PackedLayout::kNmLanes,
          .run = run,
          .pack_x = pack_x_for(type),
          .cost = {.efficiency = efficiency(target, type, columns), .unit_ns = 0, .tile_ns = 60}};
}

constexpr KernelInfo kRows[] = {
    row("spmm_f32_nm2x4_8x1_avx2", kAvx2, DType::kF32, 1, spmm_f32_nm2x4_8x1_avx2),
    row("spmm_f32_nm2x4_8x2_avx2", kAvx2, DType::kF32, 2, spmm_f32_nm2x4_8x2_avx2),
    row("spmm_f32_nm2x4_8x4_avx2", kAvx2, DType::kF32, 4, spmm_f32_nm2x4_8x4_avx2),
    row("spmm_bf16_nm2x4_8x1_avx2", kAvx2, DType::kBf16, 1, spmm_bf16_nm2x4_8x1_avx2),
    row("spmm_bf16_nm2x4_8x2_avx2", kAvx2, DType::kBf16, 2, spmm_bf16_nm2x4_8x2_avx2),
    row("spmm_bf16_nm2x4_8x4_avx2", kAvx2, DType::kBf16, 4, spmm_bf16_nm2x4_8x4_avx2),
    row("spmm_f32_nm2x4_16x1_avx512", kAvx512, DType::kF32, 1, spmm_f32_nm2x4_16x1_avx512),
    row("spmm_f32_nm2x4_16x2_avx512", kAvx512, DType::kF32, 2, spmm_f32_nm2x4_16x2_avx512),
    row("spmm_f32_nm2x4_16x4_avx512", kAvx512, DType::kF32, 4, spmm_f32_nm2x4_16x4_avx512),
    row("spmm_f32_nm2x4_16x8_avx512", kAvx512, DType::kF32, 8, spmm_f32_nm2x4_16x8_avx512),
    row("spmm_bf16_nm2x4_16x1_avx512", kAvx512, DType::kBf16, 1, spmm_bf16_nm2x4_16x1_avx512),
    row("spmm_bf16_nm2x4_16x2_avx512", kAvx512, DType::kBf16, 2, spmm_bf16_nm2x4_16x2_avx512),
    row("spmm_bf16_nm2x4_16x4_avx512", kAvx512, DType::kBf16, 4, spmm_bf16_nm2x4_16x4_avx512),
    row("spmm_bf16_nm2x4_16x8_avx512", kAvx512, DType::kBf16, 8, spmm_bf16_nm2x4_16x8_avx512),
    row("spmm_bf16_nm2x4_16x1_avx512bf16", kAvx512Bf16, DType::kBf16, 1, spmm_bf16_nm2x4_16x1_avx512bf16),
    row("spmm_bf16_nm2x4_16x2_avx512bf16", kAvx512Bf16, DType::kBf16, 2, spmm_bf16_nm2x4_16x2_avx512bf16),
    row("spmm_bf16_nm2x4_16x4_avx512bf16", kAvx512Bf16, DType::kBf16, 4, spmm_bf16_nm2x4_16x4_avx512bf16),
    row("spmm_bf16_nm2x4_16x8_avx512bf16", kAvx512Bf16, DType::kBf16, 8, spmm_bf16_nm2x4_16x8_avx512bf16),
    row("spmm_bf16_nm2x4_16x16_avx512bf16", kAvx512Bf16, DType::kBf16, 16, spmm_bf16_nm2x4_16x16_avx512bf16),
    row("spmm_i8_nm2x4_8x1_avx2", kAvx2, DType::kI8, 1, spmm_i8_nm2x4_8x1_avx2),
    row("spmm_i8_nm2x4_8x2_avx2", kAvx2, DType::kI8, 2, spmm_i8_nm2x4_8x2_avx2),
    row("spmm_i8_nm2x4_8x4_avx2", kAvx2, DType::kI8, 4, spmm_i8_nm2x4_8x4_avx2),
    row("spmm_i8_nm2x4_16x1_avx512", kAvx512, DType::kI8, 1, spmm_i8_nm2x4_16x1_avx512),
    row("spmm_i8_nm2x4_16x2_avx512", kAvx512, DType::kI8, 2, spmm_i8_nm2x4_16x2_avx512),
    row("spmm_i8_nm2x4_16x4_avx512", kAvx512, DType::kI8, 4, spmm_i8_nm2x4_16x4_avx512),
    row("spmm_i8_nm2x4_16x8_avx512", kAvx512, DType::kI8, 8, spmm_i8_nm2x4_16x8_avx512),
    row("spmm_i8_nm2x4_16x1_vnni", kVnni, DType::kI8, 1, spmm_i8_nm2x4_16x1_vnni),
    row("spmm_i8_nm2x4_16x2_vnni", kVnni, DType::kI8, 2, spmm_i8_nm2x4_16x2_vnni),
    row("spmm_i8_nm2x4_16x4_vnni", kVnni, DType::kI8, 4, spmm_i8_nm2x4_16x4_vnni),
    row("spmm_i8_nm2x4_16x8_vnni", kVnni, DType::kI8, 8, spmm_i8_nm2x4_16x8_vnni),
    row("spmm_i8_nm2x4_16x16_vnni", kVnni, DType::kI8, 16, spmm_i8_nm2x4_16x16_vnni),
};

}  // namespace

std::span<const KernelInfo> spmm_nm_kernels() { return kRows; }

}  // namespace espalier::kernels
