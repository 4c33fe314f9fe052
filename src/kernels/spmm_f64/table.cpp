// The rows of the f64 product kernels; costs: spmm_f32/tile_cost.hpp.
#include "kernels/spmm_f64/table.hpp"

#include "kernels/spmm_f32/tile_cost.hpp"
#include "kernels/spmm_f64/spmm_f64.hpp"

namespace espalier::kernels {
namespace {

constexpr Isa kScalar = Isa::kScalar, kAvx2 = Isa::kAvx2, kAvx512 = Isa::kAvx512;

constexpr int lanes_of(Isa isa) { return vector_bytes(isa) / 8; }

constexpr PackXFn pack_x_for(Isa isa) {
  return isa == kScalar ? pack_x_f64_scalar : (isa == kAvx2 ? pack_x_f64_avx2 : pack_x_f64_avx512);
}

constexpr KernelInfo tile(std::string_view name, Isa isa, int rows, int cols, SpmmFn run) {
  return {.name = name,
          .isa = isa,
          .weights = DType::kF64,
          .x = DType::kF64,
          .y = DType::kF64,
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
  KernelInfo row = tile(name, isa, rows, 1, run);
  row.op = Op::kSpmv;
  row.block_cols_step = step;
  row.max_n = 1;
  row.x_in_place = false;
  row.pack_x = pack_vector_f64;
  row.cost = {.efficiency = 0.4, .unit_ns = 0.8, .tile_ns = 15};
  return row;
}

constexpr KernelInfo kRows[] = {
    tile("spmm_f64_blk1x1_1x1v_scalar", kScalar, 1, 2, spmm_f64_blk1x1_1x1v_scalar),
    tile("spmm_f64_blk1x1_1x4v_scalar", kScalar, 1, 8, spmm_f64_blk1x1_1x4v_scalar),
    tile("spmm_f64_blk2x1_2x1v_scalar", kScalar, 2, 2, spmm_f64_blk2x1_2x1v_scalar),
    tile("spmm_f64_blk2x1_2x4v_scalar", kScalar, 2, 8, spmm_f64_blk2x1_2x4v_scalar),
    tile("spmm_f64_blk4x1_4x1v_scalar", kScalar, 4, 2, spmm_f64_blk4x1_4x1v_scalar),
    tile("spmm_f64_blk4x1_4x2v_scalar", kScalar, 4, 4, spmm_f64_blk4x1_4x2v_scalar),
    tile("spmm_f64_blk8x1_8x1v_scalar", kScalar, 8, 2, spmm_f64_blk8x1_8x1v_scalar),
    slices("spmm_f64_csr64x1_4x1v_scalar", kScalar, 2, spmm_f64_csr64x1_4x1v_scalar),
    slices("spmm_f64_csr64x1_4x2v_scalar", kScalar, 4, spmm_f64_csr64x1_4x2v_scalar),
    vector("spmv_f64_blk2x4_2x1_scalar", kScalar, 4, 2, spmv_f64_blk2x4_2x1_scalar),
    vector("spmv_f64_blk2x1_2x1_scalar", kScalar, 1, 2, spmv_f64_blk2x1_2x1_scalar),
    vector("spmv_f64_blk4x4_4x1_scalar", kScalar, 4, 4, spmv_f64_blk4x4_4x1_scalar),
    vector("spmv_f64_blk4x1_4x1_scalar", kScalar, 1, 4, spmv_f64_blk4x1_4x1_scalar),
    vector("spmv_f64_blk8x4_8x1_scalar", kScalar, 4, 8, spmv_f64_blk8x4_8x1_scalar),
    vector("spmv_f64_blk8x1_8x1_scalar", kScalar, 1, 8, spmv_f64_blk8x1_8x1_scalar),
    tile("spmm_f64_blk1x1_1x1v_avx2", kAvx2, 1, 4, spmm_f64_blk1x1_1x1v_avx2),
    tile("spmm_f64_blk1x1_1x8v_avx2", kAvx2, 1, 32, spmm_f64_blk1x1_1x8v_avx2),
    tile("spmm_f64_blk2x1_2x1v_avx2", kAvx2, 2, 4, spmm_f64_blk2x1_2x1v_avx2),
    tile("spmm_f64_blk2x1_2x4v_avx2", kAvx2, 2, 16, spmm_f64_blk2x1_2x4v_avx2),
    tile("spmm_f64_blk4x1_4x1v_avx2", kAvx2, 4, 4, spmm_f64_blk4x1_4x1v_avx2),
    tile("spmm_f64_blk4x1_4x2v_avx2", kAvx2, 4, 8, spmm_f64_blk4x1_4x2v_avx2),
    tile("spmm_f64_blk4x1_4x3v_avx2", kAvx2, 4, 12, spmm_f64_blk4x1_4x3v_avx2),
    tile("spmm_f64_blk8x1_8x1v_avx2", kAvx2, 8, 4, spmm_f64_blk8x1_8x1v_avx2),
    slices("spmm_f64_csr64x1_4x1v_avx2", kAvx2, 4, spmm_f64_csr64x1_4x1v_avx2),
    slices("spmm_f64_csr64x1_4x2v_avx2", kAvx2, 8, spmm_f64_csr64x1_4x2v_avx2),
    slices("spmm_f64_csr64x1_4x3v_avx2", kAvx2, 12, spmm_f64_csr64x1_4x3v_avx2),
    vector("spmv_f64_blk4x4_4x1_avx2", kAvx2, 4, 4, spmv_f64_blk4x4_4x1_avx2),
    vector("spmv_f64_blk4x1_4x1_avx2", kAvx2, 1, 4, spmv_f64_blk4x1_4x1_avx2),
    vector("spmv_f64_blk8x4_8x1_avx2", kAvx2, 4, 8, spmv_f64_blk8x4_8x1_avx2),
    vector("spmv_f64_blk8x1_8x1_avx2", kAvx2, 1, 8, spmv_f64_blk8x1_8x1_avx2),
    vector("spmv_f64_blk16x4_16x1_avx2", kAvx2, 4, 16, spmv_f64_blk16x4_16x1_avx2),
    vector("spmv_f64_blk16x1_16x1_avx2", kAvx2, 1, 16, spmv_f64_blk16x1_16x1_avx2),
    tile("spmm_f64_blk1x1_1x1v_avx512", kAvx512, 1, 8, spmm_f64_blk1x1_1x1v_avx512),
    tile("spmm_f64_blk1x1_1x4v_avx512", kAvx512, 1, 32, spmm_f64_blk1x1_1x4v_avx512),
    tile("spmm_f64_blk1x1_1x8v_avx512", kAvx512, 1, 64, spmm_f64_blk1x1_1x8v_avx512),
    tile("spmm_f64_blk2x1_2x1v_avx512", kAvx512, 2, 8, spmm_f64_blk2x1_2x1v_avx512),
    tile("spmm_f64_blk2x1_2x4v_avx512", kAvx512, 2, 32, spmm_f64_blk2x1_2x4v_avx512),
    tile("spmm_f64_blk2x1_2x8v_avx512", kAvx512, 2, 64, spmm_f64_blk2x1_2x8v_avx512),
    tile("spmm_f64_blk4x1_4x1v_avx512", kAvx512, 4, 8, spmm_f64_blk4x1_4x1v_avx512),
    tile("spmm_f64_blk4x1_4x2v_avx512", kAvx512, 4, 16, spmm_f64_blk4x1_4x2v_avx512),
    tile("spmm_f64_blk4x1_4x4v_avx512", kAvx512, 4, 32, spmm_f64_blk4x1_4x4v_avx512),
    tile("spmm_f64_blk4x1_4x6v_avx512", kAvx512, 4, 48, spmm_f64_blk4x1_4x6v_avx512),
    tile("spmm_f64_blk8x1_8x1v_avx512", kAvx512, 8, 8, spmm_f64_blk8x1_8x1v_avx512),
    tile("spmm_f64_blk8x1_8x2v_avx512", kAvx512, 8, 16, spmm_f64_blk8x1_8x2v_avx512),
    tile("spmm_f64_blk8x1_8x3v_avx512", kAvx512, 8, 24, spmm_f64_blk8x1_8x3v_avx512),
    tile("spmm_f64_blk16x1_16x1v_avx512", kAvx512, 16, 8, spmm_f64_blk16x1_16x1v_avx512),
    slices("spmm_f64_csr64x1_4x1v_avx512", kAvx512, 8, spmm_f64_csr64x1_4x1v_avx512),
    slices("spmm_f64_csr64x1_4x2v_avx512", kAvx512, 16, spmm_f64_csr64x1_4x2v_avx512),
    slices("spmm_f64_csr64x1_4x4v_avx512", kAvx512, 32, spmm_f64_csr64x1_4x4v_avx512),
    vector("spmv_f64_blk8x4_8x1_avx512", kAvx512, 4, 8, spmv_f64_blk8x4_8x1_avx512),
    vector("spmv_f64_blk8x1_8x1_avx512", kAvx512, 1, 8, spmv_f64_blk8x1_8x1_avx512),
    vector("spmv_f64_blk16x4_16x1_avx512", kAvx512, 4, 16, spmv_f64_blk16x4_16x1_avx512),
    vector("spmv_f64_blk16x1_16x1_avx512", kAvx512, 1, 16, spmv_f64_blk16x1_16x1_avx512),
    vector("spmv_f64_blk32x4_32x1_avx512", kAvx512, 4, 32, spmv_f64_blk32x4_32x1_avx512),
    vector("spmv_f64_blk32x1_32x1_avx512", kAvx512, 1, 32, spmv_f64_blk32x1_32x1_avx512),
};

}  // namespace

std::span<const KernelInfo> spmm_f64_kernels() { return kRows; }

}  // namespace espalier::kernels
