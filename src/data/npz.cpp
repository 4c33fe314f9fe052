// Any .npz whose arrays are named as the network's inputs, plus `labels`.
#include <espalier/files.hpp>

#include "base/fail.hpp"
#include "data/sources.hpp"

namespace espalier::data {

Result<std::vector<std::int64_t>> labels_from(const Tensor& tensor, const std::string& where) {
  if (tensor.rank() != 1 || is_float(tensor.dtype()) || tensor.dtype() == DType::kBool)
    return fail(ErrorCode::kInvalidData, "{}: labels are {} of shape {}, expected one integer per example", where,
                to_string(tensor.dtype()), to_string(tensor.shape()));
  const Tensor wide = tensor.cast(DType::kI64);
  const std::span<const std::int64_t> values = wide.values<std::int64_t>();
  return std::vector<std::int64_t>(values.begin(), values.end());
}

Result<Dataset> load_npz(const std::string& path) {
  ESPALIER_ASSIGN(std::vector<NamedTensor> arrays, read_npz(path));
  Dataset data;
  data.name = path;
  bool labelled = false;
  for (NamedTensor& array : arrays) {
    if (array.name == "labels") {
      ESPALIER_ASSIGN(data.labels, labels_from(array.tensor, path));
      labelled = true;
    } else {
      data.inputs.push_back(std::move(array));
    }
  }
  if (!labelled) return fail(ErrorCode::kInvalidData, "{}: holds no array `labels`", path);
  for (const NamedTensor& input : data.inputs)
    if (input.tensor.rank() < 1 || input.tensor.dim(0) != data.count())
      return fail(ErrorCode::kInvalidData, "{}: array '{}' has shape {}, expected {} examples along its first axis",
                  path, input.name, to_string(input.tensor.shape()), data.count());
  return data;
}

}  // namespace espalier::data
