// The rows of the int8 product kernels.
//
// Efficiency is the share of a ceiling: of vpdpbusd with VNNI, else of f32 multiply-adds, since the others multiply
// pairs of 16 bits: two vpmaddwd and two additions for what is four multiply-adds per lane. What binds a tile is as for
// f32 (spmm_f32/table.cpp).
#include "kernels/spmm_int8/table.hpp"

#include "kernels/spmm_int8/spmm_int8.hpp"

namespace espalier::kernels {
namespace {

constexpr Isa kScalar = Isa::kScalar, kAvx2 = Isa::kAvx2, kAvx512 = Isa::kAvx512, kVnni = Isa::kVnni;

constexpr PackXFn pack_x_for(Isa isa) {
  return isa == kScalar ? pack_x_int8_scalar : (isa == kAvx2 ? pack_x_int8_avx2 : pack_x_int8_avx512);
}
constexpr int lanes_of(Isa isa) { return isa == kScalar ? 4 : (isa == kAvx2 ? 8 : 16); }

// Two loads and two products start per cycle, and few accumulators cannot cover their latency.
constexpr double tile_efficiency(Isa isa, int rows, int vectors) {
  const double products = rows * vectors, loads = rows + vectors, latency = 10;
  if (isa == kScalar) return 0.03;
  if (isa != kVnni) {
    const double operations = 4 * products + 2 * loads;
    return 0.85 * 4 * products / (operations > latency ? operations : latency);
  }
  double slots = products > loads ? products : loads;
  slots = slots > latency ? slots : latency;
  return 0.95 * products / slots;
}

constexpr KernelInfo row(std::string_view name, Isa isa, int step, int rows, SpmmFn run) {
  return {.name = name,
          .isa = isa,
          .weights = DType::kI8,
          .x = DType::kU8,
          .y = DType::kI32,
          .block_cols_step = step,
          .tile_rows = rows,
          .k_per_row = 4,
          .run = run};
}

constexpr KernelInfo tile(std::string_view name, Isa isa, int step, int rows, int cols, SpmmFn run) {
  KernelInfo info = row(name, isa, step, rows, run);
  info.tile_cols = cols;
  info.pack_x = pack_x_for(isa);
  info.cost = {.efficiency = tile_efficiency(isa, rows, cols / lanes_of(isa)),
               .unit_ns = isa == kScalar ? 3 : (step == 16 ? 0.4 : 0.8),
               .tile_ns = 8};
  return info;
}

// Strips of one row with VNNI (run_single_rows of spmm_f32/strips.hpp): chains cover the latency, loads bind, and
// leaving the loop of a strip costs more than it does elsewhere.
constexpr KernelInfo single_row(std::string_view name, int cols, SpmmFn run) {
  KernelInfo info = tile(name, kVnni, 4, 1, cols, run);
  info.units_multiple = 4;
  info.panel_in_l1 = true;
  const int vectors = cols / 16;
  info.cost = {.efficiency = vectors == 1 ? 0.3 : (vectors == 2 ? 0.5 : 0.64), .unit_ns = 0, .tile_ns = 7.0 + vectors};
  return info;
}

constexpr KernelInfo vector(std::string_view name, Isa isa, int step, int rows, SpmmFn run) {
  KernelInfo info = row(name, isa, step, rows, run);
  info.op = Op::kSpmv;
  info.tile_cols = 1;
  info.max_n = 1;
  info.pack_x = pack_vector_int8;
  info.cost = {.efficiency = isa == kScalar ? 0.02 : 0.4, .unit_ns = isa == kScalar ? 3 : 0.8, .tile_ns = 15};
  return info;
}

constexpr KernelInfo kRows[] = {
    tile("spmm_i8_blk1x4_1x1v_scalar", kScalar, 4, 1, 4, spmm_i8_blk1x4_1x1v_scalar),
    tile("spmm_i8_blk1x4_1x4v_scalar", kScalar, 4, 1, 16, spmm_i8_blk1x4_1x4v_scalar),
    tile("spmm_i8_blk2x16_2x2v_scalar", kScalar, 16, 2, 8, spmm_i8_blk2x16_2x2v_scalar),
    tile("spmm_i8_blk2x4_2x2v_scalar", kScalar, 4, 2, 8, spmm_i8_blk2x4_2x2v_scalar),
    tile("spmm_i8_blk4x16_4x1v_scalar", kScalar, 16, 4, 4, spmm_i8_blk4x16_4x1v_scalar),
    tile("spmm_i8_blk4x4_4x1v_scalar", kScalar, 4, 4, 4, spmm_i8_blk4x4_4x1v_scalar),
    tile("spmm_i8_blk4x16_4x2v_scalar", kScalar, 16, 4, 8, spmm_i8_blk4x16_4x2v_scalar),
    tile("spmm_i8_blk4x4_4x2v_scalar", kScalar, 4, 4, 8, spmm_i8_blk4x4_4x2v_scalar),
    tile("spmm_i8_blk8x16_8x1v_scalar", kScalar, 16, 8, 4, spmm_i8_blk8x16_8x1v_scalar),
    tile("spmm_i8_blk8x4_8x1v_scalar", kScalar, 4, 8, 4, spmm_i8_blk8x4_8x1v_scalar),
    vector("spmv_i8_blk4x16_4x1_scalar", kScalar, 16, 4, spmv_i8_blk4x16_4x1_scalar),
    vector("spmv_i8_blk4x4_4x1_scalar", kScalar, 4, 4, spmv_i8_blk4x4_4x1_scalar),
    vector("spmv_i8_blk8x16_8x1_scalar", kScalar, 16, 8, spmv_i8_blk8x16_8x1_scalar),
    vector("spmv_i8_blk8x4_8x1_scalar", kScalar, 4, 8, spmv_i8_blk8x4_8x1_scalar),
    tile("spmm_i8_blk1x4_1x1v_avx2", kAvx2, 4, 1, 8, spmm_i8_blk1x4_1x1v_avx2),
    tile("spmm_i8_blk1x4_1x4v_avx2", kAvx2, 4, 1, 32, spmm_i8_blk1x4_1x4v_avx2),
    tile("spmm_i8_blk2x16_2x2v_avx2", kAvx2, 16, 2, 16, spmm_i8_blk2x16_2x2v_avx2),
    tile("spmm_i8_blk2x4_2x2v_avx2", kAvx2, 4, 2, 16, spmm_i8_blk2x4_2x2v_avx2),
    tile("spmm_i8_blk4x16_4x1v_avx2", kAvx2, 16, 4, 8, spmm_i8_blk4x16_4x1v_avx2),
    tile("spmm_i8_blk4x4_4x1v_avx2", kAvx2, 4, 4, 8, spmm_i8_blk4x4_4x1v_avx2),
    tile("spmm_i8_blk4x16_4x2v_avx2", kAvx2, 16, 4, 16, spmm_i8_blk4x16_4x2v_avx2),
    tile("spmm_i8_blk4x4_4x2v_avx2", kAvx2, 4, 4, 16, spmm_i8_blk4x4_4x2v_avx2),
    tile("spmm_i8_blk8x16_8x1v_avx2", kAvx2, 16, 8, 8, spmm_i8_blk8x16_8x1v_avx2),
    tile("spmm_i8_blk8x4_8x1v_avx2", kAvx2, 4, 8, 8, spmm_i8_blk8x4_8x1v_avx2),
    vector("spmv_i8_blk8x16_8x1_avx2", kAvx2, 16, 8, spmv_i8_blk8x16_8x1_avx2),
    vector("spmv_i8_blk8x4_8x1_avx2", kAvx2, 4, 8, spmv_i8_blk8x4_8x1_avx2),
    vector("spmv_i8_blk16x16_16x1_avx2", kAvx2, 16, 16, spmv_i8_blk16x16_16x1_avx2),
    vector("spmv_i8_blk16x4_16x1_avx2", kAvx2, 4, 16, spmv_i8_blk16x4_16x1_avx2),
    tile("spmm_i8_blk1x4_1x1v_avx512", kAvx512, 4, 1, 16, spmm_i8_blk1x4_1x1v_avx512),
    tile("spmm_i8_blk1x4_1x4v_avx512", kAvx512, 4, 1, 64, spmm_i8_blk1x4_1x4v_avx512),
    tile("spmm_i8_blk2x16_2x4v_avx512", kAvx512, 16, 2, 64, spmm_i8_blk2x16_2x4v_avx512),
    tile("spmm_i8_blk2x4_2x4v_avx512", kAvx512, 4, 2, 64, spmm_i8_blk2x4_2x4v_avx512),
    tile("spmm_i8_blk4x16_4x1v_avx512", kAvx512, 16, 4, 16, spmm_i8_blk4x16_4x1v_avx512),
    tile("spmm_i8_blk4x4_4x1v_avx512", kAvx512, 4, 4, 16, spmm_i8_blk4x4_4x1v_avx512),
    tile("spmm_i8_blk4x16_4x2v_avx512", kAvx512, 16, 4, 32, spmm_i8_blk4x16_4x2v_avx512),
    tile("spmm_i8_blk4x4_4x2v_avx512", kAvx512, 4, 4, 32, spmm_i8_blk4x4_4x2v_avx512),
    tile("spmm_i8_blk4x16_4x4v_avx512", kAvx512, 16, 4, 64, spmm_i8_blk4x16_4x4v_avx512),
    tile("spmm_i8_blk4x4_4x4v_avx512", kAvx512, 4, 4, 64, spmm_i8_blk4x4_4x4v_avx512),
    tile("spmm_i8_blk8x16_8x1v_avx512", kAvx512, 16, 8, 16, spmm_i8_blk8x16_8x1v_avx512),
    tile("spmm_i8_blk8x4_8x1v_avx512", kAvx512, 4, 8, 16, spmm_i8_blk8x4_8x1v_avx512),
    tile("spmm_i8_blk8x16_8x2v_avx512", kAvx512, 16, 8, 32, spmm_i8_blk8x16_8x2v_avx512),
    tile("spmm_i8_blk8x4_8x2v_avx512", kAvx512, 4, 8, 32, spmm_i8_blk8x4_8x2v_avx512),
    tile("spmm_i8_blk16x16_16x1v_avx512", kAvx512, 16, 16, 16, spmm_i8_blk16x16_16x1v_avx512),
    tile("spmm_i8_blk16x4_16x1v_avx512", kAvx512, 4, 16, 16, spmm_i8_blk16x4_16x1v_avx512),
    vector("spmv_i8_blk16x16_16x1_avx512", kAvx512, 16, 16, spmv_i8_blk16x16_16x1_avx512),
    vector("spmv_i8_blk16x4_16x1_avx512", kAvx512, 4, 16, spmv_i8_blk16x4_16x1_avx512),
    single_row("spmm_i8_blk1x4_1x1v_vnni", 16, spmm_i8_blk1x4_1x1v_vnni),
    single_row("spmm_i8_blk1x4_1x2v_vnni", 32, spmm_i8_blk1x4_1x2v_vnni),
    single_row("spmm_i8_blk1x4_1x4v_vnni", 64, spmm_i8_blk1x4_1x4v_vnni),
    single_row("spmm_i8_blk1x4_1x8v_vnni", 128, spmm_i8_blk1x4_1x8v_vnni),
    tile("spmm_i8_blk2x16_2x1v_vnni", kVnni, 16, 2, 16, spmm_i8_blk2x16_2x1v_vnni),
    tile("spmm_i8_blk2x4_2x1v_vnni", kVnni, 4, 2, 16, spmm_i8_blk2x4_2x1v_vnni),
    tile("spmm_i8_blk2x16_2x4v_vnni", kVnni, 16, 2, 64, spmm_i8_blk2x16_2x4v_vnni),
    tile("spmm_i8_blk2x4_2x4v_vnni", kVnni, 4, 2, 64, spmm_i8_blk2x4_2x4v_vnni),
    tile("spmm_i8_blk2x16_2x8v_vnni", kVnni, 16, 2, 128, spmm_i8_blk2x16_2x8v_vnni),
    tile("spmm_i8_blk2x4_2x8v_vnni", kVnni, 4, 2, 128, spmm_i8_blk2x4_2x8v_vnni),
    tile("spmm_i8_blk4x16_4x1v_vnni", kVnni, 16, 4, 16, spmm_i8_blk4x16_4x1v_vnni),
    tile("spmm_i8_blk4x4_4x1v_vnni", kVnni, 4, 4, 16, spmm_i8_blk4x4_4x1v_vnni),
    tile("spmm_i8_blk4x16_4x2v_vnni", kVnni, 16, 4, 32, spmm_i8_blk4x16_4x2v_vnni),
    tile("spmm_i8_blk4x4_4x2v_vnni", kVnni, 4, 4, 32, spmm_i8_blk4x4_4x2v_vnni),
    tile("spmm_i8_blk4x16_4x4v_vnni", kVnni, 16, 4, 64, spmm_i8_blk4x16_4x4v_vnni),
    tile("spmm_i8_blk4x4_4x4v_vnni", kVnni, 4, 4, 64, spmm_i8_blk4x4_4x4v_vnni),
    tile("spmm_i8_blk4x16_4x6v_vnni", kVnni, 16, 4, 96, spmm_i8_blk4x16_4x6v_vnni),
    tile("spmm_i8_blk4x4_4x6v_vnni", kVnni, 4, 4, 96, spmm_i8_blk4x4_4x6v_vnni),
    tile("spmm_i8_blk8x16_8x1v_vnni", kVnni, 16, 8, 16, spmm_i8_blk8x16_8x1v_vnni),
    tile("spmm_i8_blk8x4_8x1v_vnni", kVnni, 4, 8, 16, spmm_i8_blk8x4_8x1v_vnni),
    tile("spmm_i8_blk8x16_8x2v_vnni", kVnni, 16, 8, 32, spmm_i8_blk8x16_8x2v_vnni),
    tile("spmm_i8_blk8x4_8x2v_vnni", kVnni, 4, 8, 32, spmm_i8_blk8x4_8x2v_vnni),
    tile("spmm_i8_blk8x16_8x3v_vnni", kVnni, 16, 8, 48, spmm_i8_blk8x16_8x3v_vnni),
    tile("spmm_i8_blk8x4_8x3v_vnni", kVnni, 4, 8, 48, spmm_i8_blk8x4_8x3v_vnni),
    tile("spmm_i8_blk16x16_16x1v_vnni", kVnni, 16, 16, 16, spmm_i8_blk16x16_16x1v_vnni),
    tile("spmm_i8_blk16x4_16x1v_vnni", kVnni, 4, 16, 16, spmm_i8_blk16x4_16x1v_vnni),
    vector("spmv_i8_blk8x16_8x1_vnni", kVnni, 16, 8, spmv_i8_blk8x16_8x1_vnni),
    vector("spmv_i8_blk8x4_8x1_vnni", kVnni, 4, 8, spmv_i8_blk8x4_8x1_vnni),
    vector("spmv_i8_blk16x16_16x1_vnni", kVnni, 16, 16, spmv_i8_blk16x16_16x1_vnni),
    vector("spmv_i8_blk16x4_16x1_vnni", kVnni, 4, 16, spmv_i8_blk16x4_16x1_vnni),
    vector("spmv_i8_blk32x16_32x1_vnni", kVnni, 16, 32, spmv_i8_blk32x16_32x1_vnni),
    vector("spmv_i8_blk32x4_32x1_vnni", kVnni, 4, 32, spmv_i8_blk32x4_32x1_vnni),
};

}  // namespace

std::span<const KernelInfo> spmm_int8_kernels() { return kRows; }

}  // namespace espalier::kernels
