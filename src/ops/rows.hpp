// The rows of each operator file; ops/table.cpp joins them.
#pragma once

#include <span>

#include "ops/op.hpp"

namespace espalier::ops {

using OpRows = std::span<const OpDef>;

OpRows arg_ops();
OpRows binary_ops();
OpRows cast_ops();
OpRows concat_ops();
OpRows conv_ops();
OpRows gather_ops();
OpRows gemm_ops();
OpRows global_pool_ops();
OpRows integer_conv_ops();
OpRows integer_matmul_ops();
OpRows lrn_ops();
OpRows matmul_ops();
OpRows normalization_ops();
OpRows pad_ops();
OpRows pool_ops();
OpRows quantize_ops();
OpRows rearrange_ops();
OpRows reduce_ops();
OpRows reshape_ops();
OpRows resize_ops();
OpRows scatter_ops();
OpRows select_ops();
OpRows shape_ops();
OpRows slice_ops();
OpRows softmax_ops();
OpRows transpose_ops();
OpRows unary_ops();

}  // namespace espalier::ops
