// The rows of the f32 product kernels; costs: tile_cost.hpp.
#include "kernels/spmm_f32/table.hpp"

#include "kernels/spmm_f32/spmm_f32.hpp"
#include "kernels/spmm_f32/tile_cost.hpp"

namespace espalier::kernels {
namespace {

constexpr Isa kScalar = Isa::kScalar, kAvx2 = Isa::kAvx2, kAvx512 = Isa::kAvx512;

constexpr PackXFn pack_x_for(Isa isa) {
  return isa == kScalar ? pack_x_f32_scalar : (isa == kAvx2 ? pack_x_f32_avx2 : pack_x_f32_avx512);
}

constexpr int lanes_of(Isa isa) { return vector_bytes(isa) / 4; }

constexpr KernelInfo tile(std::string_view name, Isa isa, int rows, int cols, SpmmFn run) {
  return {.name = name,
          .isa = isa,
          .tile_rows = rows,
          .tile_cols = cols,
          .x_in_place = true,
          .run = run,
          .pack_x = pack_x_for(isa),
          .cost = {.efficiency = tile_efficiency(isa, rows, cols / lanes_of(isa)), .unit_ns = 0.4, .tile_ns = 8}};
}

constexpr KernelInfo slices(std::string_view name, Isa isa, int cols, SpmmFn run) {
  return as_slices(tile(name, isa, 64, cols, run), cols / lanes_of(isa));
}

constexpr KernelInfo vector(std::string_view name, Isa isa, int step, int rows, SpmmFn run) {
  return {.name = name,
          .op = Op::kSpmv,
          .isa = isa,
          .block_cols_step = step,
          .tile_rows = rows,
          .tile_cols = 1,
          .max_n = 4,  // one after another
          .run = run,
          .pack_x = pack_vector_f32,
          .cost = {.efficiency = 0.4, .unit_ns = 0.8, .tile_ns = 15}};
}

// Two operations per gathered element, of which about one arrives per cycle.
constexpr KernelInfo vector_slices(std::string_view name, Isa isa, SpmmFn run) {
  KernelInfo row = vector(name, isa, 1, 64, run);
  row.layout = PackedLayout::kSlices;
  row.cost = {.efficiency = isa == kAvx2 ? 0.06 : 0.04, .unit_ns = 0, .tile_ns = 200};
  return row;
}

constexpr KernelInfo kRows[] = {
    tile("spmm_f32_blk1x1_1x1v_scalar", kScalar, 1, 4, spmm_f32_blk1x1_1x1v_scalar),
    tile("spmm_f32_blk1x1_1x4v_scalar", kScalar, 1, 16, spmm_f32_blk1x1_1x4v_scalar),
    tile("spmm_f32_blk2x1_2x1v_scalar", kScalar, 2, 4, spmm_f32_blk2x1_2x1v_scalar),
    tile("spmm_f32_blk2x1_2x4v_scalar", kScalar, 2, 16, spmm_f32_blk2x1_2x4v_scalar),
    tile("spmm_f32_blk4x1_4x1v_scalar", kScalar, 4, 4, spmm_f32_blk4x1_4x1v_scalar),
    tile("spmm_f32_blk4x1_4x2v_scalar", kScalar, 4, 8, spmm_f32_blk4x1_4x2v_scalar),
    tile("spmm_f32_blk8x1_8x1v_scalar", kScalar, 8, 4, spmm_f32_blk8x1_8x1v_scalar),
    slices("spmm_f32_csr64x1_4x1v_scalar", kScalar, 4, spmm_f32_csr64x1_4x1v_scalar),
    slices("spmm_f32_csr64x1_4x2v_scalar", kScalar, 8, spmm_f32_csr64x1_4x2v_scalar),
    vector("spmv_f32_blk4x4_4x1_scalar", kScalar, 4, 4, spmv_f32_blk4x4_4x1_scalar),
    vector("spmv_f32_blk4x1_4x1_scalar", kScalar, 1, 4, spmv_f32_blk4x1_4x1_scalar),
    vector("spmv_f32_blk8x4_8x1_scalar", kScalar, 4, 8, spmv_f32_blk8x4_8x1_scalar),
    vector("spmv_f32_blk8x1_8x1_scalar", kScalar, 1, 8, spmv_f32_blk8x1_8x1_scalar),
    vector("spmv_f32_blk16x4_16x1_scalar", kScalar, 4, 16, spmv_f32_blk16x4_16x1_scalar),
    vector("spmv_f32_blk16x1_16x1_scalar", kScalar, 1, 16, spmv_f32_blk16x1_16x1_scalar),
    tile("spmm_f32_blk1x1_1x1v_avx2", kAvx2, 1, 8, spmm_f32_blk1x1_1x1v_avx2),
    tile("spmm_f32_blk1x1_1x8v_avx2", kAvx2, 1, 64, spmm_f32_blk1x1_1x8v_avx2),
    tile("spmm_f32_blk2x1_2x1v_avx2", kAvx2, 2, 8, spmm_f32_blk2x1_2x1v_avx2),
    tile("spmm_f32_blk2x1_2x4v_avx2", kAvx2, 2, 32, spmm_f32_blk2x1_2x4v_avx2),
    tile("spmm_f32_blk4x1_4x1v_avx2", kAvx2, 4, 8, spmm_f32_blk4x1_4x1v_avx2),
    tile("spmm_f32_blk4x1_4x2v_avx2", kAvx2, 4, 16, spmm_f32_blk4x1_4x2v_avx2),
    tile("spmm_f32_blk4x1_4x3v_avx2", kAvx2, 4, 24, spmm_f32_blk4x1_4x3v_avx2),
    tile("spmm_f32_blk8x1_8x1v_avx2", kAvx2, 8, 8, spmm_f32_blk8x1_8x1v_avx2),
    slices("spmm_f32_csr64x1_4x1v_avx2", kAvx2, 8, spmm_f32_csr64x1_4x1v_avx2),
    slices("spmm_f32_csr64x1_4x2v_avx2", kAvx2, 16, spmm_f32_csr64x1_4x2v_avx2),
    slices("spmm_f32_csr64x1_4x3v_avx2", kAvx2, 24, spmm_f32_csr64x1_4x3v_avx2),
    vector_slices("spmv_f32_csr64x1_4x2_avx2", kAvx2, spmv_f32_csr64x1_4x2_avx2),
    vector("spmv_f32_blk4x2_4x1_avx2", kAvx2, 2, 4, spmv_f32_blk4x2_4x1_avx2),
    vector("spmv_f32_blk4x1_4x1_avx2", kAvx2, 1, 4, spmv_f32_blk4x1_4x1_avx2),
    vector("spmv_f32_blk8x4_8x1_avx2", kAvx2, 4, 8, spmv_f32_blk8x4_8x1_avx2),
    vector("spmv_f32_blk8x1_8x1_avx2", kAvx2, 1, 8, spmv_f32_blk8x1_8x1_avx2),
    vector("spmv_f32_blk16x4_16x1_avx2", kAvx2, 4, 16, spmv_f32_blk16x4_16x1_avx2),
    vector("spmv_f32_blk16x1_16x1_avx2", kAvx2, 1, 16, spmv_f32_blk16x1_16x1_avx2),
    tile("spmm_f32_blk1x1_1x1v_avx512", kAvx512, 1, 16, spmm_f32_blk1x1_1x1v_avx512),
    tile("spmm_f32_blk1x1_1x4v_avx512", kAvx512, 1, 64, spmm_f32_blk1x1_1x4v_avx512),
    tile("spmm_f32_blk1x1_1x8v_avx512", kAvx512, 1, 128, spmm_f32_blk1x1_1x8v_avx512),
    tile("spmm_f32_blk2x1_2x1v_avx512", kAvx512, 2, 16, spmm_f32_blk2x1_2x1v_avx512),
    tile("spmm_f32_blk2x1_2x4v_avx512", kAvx512, 2, 64, spmm_f32_blk2x1_2x4v_avx512),
    tile("spmm_f32_blk2x1_2x8v_avx512", kAvx512, 2, 128, spmm_f32_blk2x1_2x8v_avx512),
    tile("spmm_f32_blk4x1_4x1v_avx512", kAvx512, 4, 16, spmm_f32_blk4x1_4x1v_avx512),
    tile("spmm_f32_blk4x1_4x2v_avx512", kAvx512, 4, 32, spmm_f32_blk4x1_4x2v_avx512),
    tile("spmm_f32_blk4x1_4x4v_avx512", kAvx512, 4, 64, spmm_f32_blk4x1_4x4v_avx512),
    tile("spmm_f32_blk4x1_4x6v_avx512", kAvx512, 4, 96, spmm_f32_blk4x1_4x6v_avx512),
    tile("spmm_f32_blk8x1_8x1v_avx512", kAvx512, 8, 16, spmm_f32_blk8x1_8x1v_avx512),
    tile("spmm_f32_blk8x1_8x2v_avx512", kAvx512, 8, 32, spmm_f32_blk8x1_8x2v_avx512),
    tile("spmm_f32_blk8x1_8x3v_avx512", kAvx512, 8, 48, spmm_f32_blk8x1_8x3v_avx512),
    tile("spmm_f32_blk16x1_16x1v_avx512", kAvx512, 16, 16, spmm_f32_blk16x1_16x1v_avx512),
    slices("spmm_f32_csr64x1_4x1v_avx512", kAvx512, 16, spmm_f32_csr64x1_4x1v_avx512),
    slices("spmm_f32_csr64x1_4x2v_avx512", kAvx512, 32, spmm_f32_csr64x1_4x2v_avx512),
    slices("spmm_f32_csr64x1_4x4v_avx512", kAvx512, 64, spmm_f32_csr64x1_4x4v_avx512),
    vector_slices("spmv_f32_csr64x1_4x4_avx512", kAvx512, spmv_f32_csr64x1_4x4_avx512),
    vector("spmv_f32_blk4x4_4x1_avx512", kAvx512, 4, 4, spmv_f32_blk4x4_4x1_avx512),
    vector("spmv_f32_blk4x1_4x1_avx512", kAvx512, 1, 4, spmv_f32_blk4x1_4x1_avx512),
    vector("spmv_f32_blk8x2_8x1_avx512", kAvx512, 2, 8, spmv_f32_blk8x2_8x1_avx512),
    vector("spmv_f32_blk8x1_8x1_avx512", kAvx512, 1, 8, spmv_f32_blk8x1_8x1_avx512),
    vector("spmv_f32_blk16x4_16x1_avx512", kAvx512, 4, 16, spmv_f32_blk16x4_16x1_avx512),
    vector("spmv_f32_blk16x1_16x1_avx512", kAvx512, 1, 16, spmv_f32_blk16x1_16x1_avx512),
};

}  // namespace

std::span<const KernelInfo> spmm_f32_kernels() { return kRows; }

}  // namespace espalier::kernels
