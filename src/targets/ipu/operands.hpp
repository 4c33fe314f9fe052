// Matrices of the host as the simulator takes them.
#pragma once

#include <espalier/ipu.hpp>
#include <espalier/sparse.hpp>
#include <espalier/tensor.hpp>
#include <vector>

namespace espalier::ipu {

// A number rounded to the type and back.
float rounded(float value, DType dtype);
// A matrix [rows, cols] of any float type, rounded to `dtype`. Error: kInvalidArgument naming `what` and both shapes.
Result<std::vector<float>> read_matrix(const Tensor& tensor, std::int64_t rows, std::int64_t cols, DType dtype,
                                       const char* what);
// [rows, cols] -> [cols, rows].
std::vector<float> transposed(const std::vector<float>& matrix, std::int64_t rows, std::int64_t cols);
// Values of the blocks, in the order of the matrix, rounded. Error: kInvalidArgument for another count.
Result<std::vector<float>> read_values(const Tensor& values, std::int64_t count, DType dtype);
// Square blocks of `block`, in whole blocks, valid. Error: kInvalidArgument or what validate() says.
Status check_sparse(const BlockSparse& matrix, std::int64_t block);

}  // namespace espalier::ipu
