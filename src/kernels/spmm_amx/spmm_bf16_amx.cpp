// The bf16 products on AMX tiles.
#include "kernels/spmm_amx/nm_tiles_amx.hpp"
#include "kernels/spmm_amx/spmm_amx.hpp"
#include "kernels/spmm_amx/tile_loop_amx.hpp"

namespace espalier::kernels {

void spmm_bf16_blk16x32_1x1t_amx(const SpmmArgs& args) { run_tiles<Bf16Tiles, 1, 1, DirectRows>(args); }
void spmm_bf16_blk16x32_1x2t_amx(const SpmmArgs& args) { run_tiles<Bf16Tiles, 1, 2, DirectRows>(args); }
void spmm_bf16_blk16x32_1x4t_amx(const SpmmArgs& args) { run_tiles<Bf16Tiles, 1, 4, DirectRows>(args); }
void spmm_bf16_blk32x32_2x1t_amx(const SpmmArgs& args) { run_tiles<Bf16Tiles, 2, 1, DirectRows>(args); }
void spmm_bf16_blk32x32_2x2t_amx(const SpmmArgs& args) { run_tiles<Bf16Tiles, 2, 2, DirectRows>(args); }
void spmm_bf16_gather16x2_1x1t_amx(const SpmmArgs& args) { run_tiles<Bf16Tiles, 1, 1, GatheredRows>(args); }
void spmm_bf16_gather16x2_1x2t_amx(const SpmmArgs& args) { run_tiles<Bf16Tiles, 1, 2, GatheredRows>(args); }
void spmm_bf16_gather16x2_1x4t_amx(const SpmmArgs& args) { run_tiles<Bf16Tiles, 1, 4, GatheredRows>(args); }
void spmm_bf16_gather32x2_2x1t_amx(const SpmmArgs& args) { run_tiles<Bf16Tiles, 2, 1, GatheredRows>(args); }
void spmm_bf16_gather32x2_2x2t_amx(const SpmmArgs& args) { run_tiles<Bf16Tiles, 2, 2, GatheredRows>(args); }
void spmm_bf16_nm2x4_2x1t_amx(const SpmmArgs& args) { run_nm_tiles<Bf16Tiles, 2, 1>(args); }
void spmm_bf16_nm2x4_2x2t_amx(const SpmmArgs& args) { run_nm_tiles<Bf16Tiles, 2, 2>(args); }

}  // namespace espalier::kernels
