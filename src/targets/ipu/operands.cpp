#include "targets/ipu/operands.hpp"

#include "base/fail.hpp"

namespace espalier::ipu {

float rounded(float value, DType dtype) { return dtype == DType::kF16 ? static_cast<float>(f16(value)) : value; }

namespace {

std::vector<float> rounded_values(const Tensor& tensor, DType dtype) {
  const Tensor floats = tensor.cast(DType::kF32);
  const auto span = floats.values<float>();
  std::vector<float> values(span.begin(), span.end());
  if (dtype == DType::kF16)
    for (float& value : values) value = rounded(value, dtype);
  return values;
}

}  // namespace

Result<std::vector<float>> read_matrix(const Tensor& tensor, std::int64_t rows, std::int64_t cols, DType dtype,
                                       const char* what) {
  if (tensor.rank() != 2 || tensor.dim(0) != rows || tensor.dim(1) != cols || !is_float(tensor.dtype()))
    return fail(ErrorCode::kInvalidArgument, "simulate: expected {} of shape {}x{} and a float type, found {} of {}",
                what, rows, cols, espalier::to_string(tensor.shape()), to_string(tensor.dtype()));
  return rounded_values(tensor, dtype);
}

std::vector<float> transposed(const std::vector<float>& matrix, std::int64_t rows, std::int64_t cols) {
  std::vector<float> result(matrix.size());
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c)
      result[static_cast<std::size_t>(c * rows + r)] = matrix[static_cast<std::size_t>(r * cols + c)];
  return result;
}

Result<std::vector<float>> read_values(const Tensor& values, std::int64_t count, DType dtype) {
  if (values.count() != count || !is_float(values.dtype()))
    return fail(ErrorCode::kInvalidArgument, "simulate: expected {} values of a float type, found {} of {}", count,
                values.count(), to_string(values.dtype()));
  return rounded_values(values, dtype);
}

Status check_sparse(const BlockSparse& matrix, std::int64_t block) {
  ESPALIER_TRY(validate(matrix));
  if (matrix.block.rows != block || matrix.block.cols != block || matrix.rows % block != 0 || matrix.cols % block != 0)
    return fail(ErrorCode::kInvalidArgument,
                "simulate: expected a matrix in whole blocks of {} x {}, found {} x {} in blocks of {} x {}", block,
                block, matrix.rows, matrix.cols, matrix.block.rows, matrix.block.cols);
  return {};
}

}  // namespace espalier::ipu
