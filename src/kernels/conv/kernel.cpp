#include "kernels/conv/kernel.hpp"

#include "kernels/conv/conv_bf16.hpp"
#include "kernels/conv/conv_f32.hpp"

namespace espalier::conv {
namespace {

// The level vnni is the first at which vdpbf16ps may be used.
constexpr ConvKernel bf16_row(std::string_view name, Isa isa, int rows, int tile_slots, ConvFn run, int side = 0,
                              ConvFn gather = nullptr) {
  return {.name = name,
          .isa = isa,
          .rows = rows,
          .tile_slots = tile_slots,
          .run = run,
          .side = side,
          .gather = gather,
          .dtype = DType::kBf16,
          .bf16_vectors = isa >= Isa::kVnni};
}

constexpr ConvKernel kKernels[] = {
    {"conv_f32_blk4_4x2v_scalar", Isa::kScalar, 4, 8, conv_f32_blk4_4x2v_scalar},
    {"conv_f32_blk1_1x8v_scalar", Isa::kScalar, 1, 32, conv_f32_blk1_1x8v_scalar},
    {"conv_f32_blk4_4x3v_avx2", Isa::kAvx2, 4, 24, conv_f32_blk4_4x3v_avx2},
    {"conv_f32_blk1_1x12v_avx2", Isa::kAvx2, 1, 96, conv_f32_blk1_1x12v_avx2},
    {"conv_f32_blk8_8x3v_avx512", Isa::kAvx512, 8, 48, conv_f32_blk8_8x3v_avx512},
    {"conv_f32_blk4_4x6v_avx512", Isa::kAvx512, 4, 96, conv_f32_blk4_4x6v_avx512},
    {"conv_f32_blk4_4x4v_avx512", Isa::kAvx512, 4, 64, conv_f32_blk4_4x4v_avx512},
    {"conv_f32_blk1_1x16v_avx512", Isa::kAvx512, 1, 256, conv_f32_blk1_1x16v_avx512},
    {"conv_f32_blk8_8x49_avx512", Isa::kAvx512, 8, 49, conv_f32_blk8_8x49_avx512, 7, gather_panel_7x7_avx512},
    bf16_row("conv_bf16_blk4_4x1v_scalar", Isa::kScalar, 4, 4, conv_bf16_blk4_4x1v_scalar),
    bf16_row("conv_bf16_blk2_2x2v_scalar", Isa::kScalar, 2, 8, conv_bf16_blk2_2x2v_scalar),
    bf16_row("conv_bf16_blk4_4x2v_avx2", Isa::kAvx2, 4, 16, conv_bf16_blk4_4x2v_avx2),
    bf16_row("conv_bf16_blk2_2x3v_avx2", Isa::kAvx2, 2, 24, conv_bf16_blk2_2x3v_avx2),
    bf16_row("conv_bf16_blk8_8x2v_avx512", Isa::kAvx512, 8, 32, conv_bf16_blk8_8x2v_avx512),
    bf16_row("conv_bf16_blk4_4x4v_avx512", Isa::kAvx512, 4, 64, conv_bf16_blk4_4x4v_avx512),
    bf16_row("conv_bf16_blk2_2x8v_avx512", Isa::kAvx512, 2, 128, conv_bf16_blk2_2x8v_avx512),
    bf16_row("conv_bf16_blk8_8x3v_avx512bf16", Isa::kVnni, 8, 48, conv_bf16_blk8_8x3v_avx512bf16),
    bf16_row("conv_bf16_blk4_4x6v_avx512bf16", Isa::kVnni, 4, 96, conv_bf16_blk4_4x6v_avx512bf16),
    bf16_row("conv_bf16_blk4_4x4v_avx512bf16", Isa::kVnni, 4, 64, conv_bf16_blk4_4x4v_avx512bf16),
    bf16_row("conv_bf16_blk2_2x12v_avx512bf16", Isa::kVnni, 2, 192, conv_bf16_blk2_2x12v_avx512bf16),
    bf16_row("conv_bf16_blk8_8x49_avx512bf16", Isa::kVnni, 8, 49, conv_bf16_blk8_8x49_avx512bf16, 7,
             gather_panel_7x7_avx512),
};

}  // namespace

std::span<const ConvKernel> conv_kernels() { return kKernels; }

const ConvKernel* find_conv_kernel(std::string_view name) {
  for (const ConvKernel& kernel : kKernels)
    if (kernel.name == name) return &kernel;
  return nullptr;
}

}  // namespace espalier::conv
