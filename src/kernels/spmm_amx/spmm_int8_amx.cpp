// The int8 products on AMX tiles.
#include "kernels/spmm_amx/nm_tiles_amx.hpp"
#include "kernels/spmm_amx/spmm_amx.hpp"
#include "kernels/spmm_amx/tile_loop_amx.hpp"

namespace espalier::kernels {

void spmm_i8_blk16x64_1x1t_amx(const SpmmArgs& args) { run_tiles<Int8Tiles, 1, 1, DirectRows>(args); }
void spmm_i8_blk16x64_1x2t_amx(const SpmmArgs& args) { run_tiles<Int8Tiles, 1, 2, DirectRows>(args); }
void spmm_i8_blk16x64_1x4t_amx(const SpmmArgs& args) { run_tiles<Int8Tiles, 1, 4, DirectRows>(args); }
void spmm_i8_blk32x64_2x1t_amx(const SpmmArgs& args) { run_tiles<Int8Tiles, 2, 1, DirectRows>(args); }
void spmm_i8_blk32x64_2x2t_amx(const SpmmArgs& args) { run_tiles<Int8Tiles, 2, 2, DirectRows>(args); }
void spmm_i8_gather16x4_1x1t_amx(const SpmmArgs& args) { run_tiles<Int8Tiles, 1, 1, GatheredRows>(args); }
void spmm_i8_gather16x4_1x2t_amx(const SpmmArgs& args) { run_tiles<Int8Tiles, 1, 2, GatheredRows>(args); }
void spmm_i8_gather16x4_1x4t_amx(const SpmmArgs& args) { run_tiles<Int8Tiles, 1, 4, GatheredRows>(args); }
void spmm_i8_gather32x4_2x1t_amx(const SpmmArgs& args) { run_tiles<Int8Tiles, 2, 1, GatheredRows>(args); }
void spmm_i8_gather32x4_2x2t_amx(const SpmmArgs& args) { run_tiles<Int8Tiles, 2, 2, GatheredRows>(args); }
void spmm_i8_nm2x4_2x1t_amx(const SpmmArgs& args) { run_nm_tiles<Int8Tiles, 2, 1>(args); }
void spmm_i8_nm2x4_2x2t_amx(const SpmmArgs& args) { run_nm_tiles<Int8Tiles, 2, 2>(args); }

}  // namespace espalier::kernels
