// The scalar reference of a product: Y = act(alpha W X + bias + beta R), straight from the definition. Slow, sums in
// double in the order of the columns, any element types. Kept entries only: a NaN or infinity in X meets no structural
// zero.
#pragma once

#include <espalier/sparse.hpp>
#include <espalier/tensor.hpp>

#include "kernels/spmm_args.hpp"

namespace espalier::kernels {

// X is k x n, the result m x n, both f64 (cast from what the kernel reads, so that rounding of inputs is not an error).
// The strides and pointers of `epilogue` are as for a kernel; row_offset is not used: X is as it counts. Preconditions:
// the matrix is valid and X fits it.
Tensor reference_spmm(const BlockSparse& w, const Tensor& x, const Epilogue& epilogue = {});
Tensor reference_spmm(const NmSparse& w, const Tensor& x, const Epilogue& epilogue = {});
Tensor reference_spmm(const Csr& w, const Tensor& x, const Epilogue& epilogue = {});

}  // namespace espalier::kernels
