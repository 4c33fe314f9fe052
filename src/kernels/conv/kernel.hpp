// The table of convolution kernels.
//
// Names: conv_f32_blk8_8x3v_avx512: row groups of 8 output channels that share their kept input channels, a register
// tile of 8 rows x 3 vectors. The name is also the function's symbol. bf16 kernels read and write slots of two
// channels; those for AVX-512 BF16 multiply pairs, the others widen them to f32.
#pragma once

#include <espalier/cpu.hpp>
#include <espalier/types.hpp>
#include <span>
#include <string_view>

#include "kernels/conv/conv_args.hpp"

namespace espalier::conv {

struct ConvKernel {
  std::string_view name;
  Isa isa = Isa::kScalar;
  int rows = 1;        // output channels of a row group, as packed
  int tile_slots = 1;  // pixels of a register tile
  ConvFn run = nullptr;
  // Kernels for one image size (`side` x `side`, 0: any) that work on a panel: `gather` fills it for the image
  // args.tile_begin, then `run` takes that image; a register tile is then an image and tile_slots its pixels.
  int side = 0;
  ConvFn gather = nullptr;
  DType dtype = DType::kF32;
  bool bf16_vectors = false;  // needs vdpbf16ps besides `isa`

  int per_slot() const { return dtype == DType::kBf16 ? 2 : 1; }
};

// Whether a kernel may run when `isa` is the highest level and vdpbf16ps is there or not.
constexpr bool conv_kernel_runs(const ConvKernel& kernel, Isa isa, bool bf16_vectors) {
  return kernel.isa <= isa && (bf16_vectors || !kernel.bf16_vectors);
}

// All kernels of this build. The scalar ones run anywhere.
std::span<const ConvKernel> conv_kernels();
const ConvKernel* find_conv_kernel(std::string_view name);

}  // namespace espalier::conv
