// Examples as the inputs of a network.
#include <algorithm>
#include <cstring>

#include "base/fail.hpp"
#include "espalier/data.hpp"

namespace espalier {

namespace {

// The value of a list for a channel: one number stands for all.
float channel_value(const std::vector<float>& list, std::int64_t channel, float otherwise) {
  if (list.empty()) return otherwise;
  return list.size() == 1 ? list[0] : list[static_cast<std::size_t>(channel)];
}

Status check_preprocess(const Preprocess& preprocess, std::int64_t channels) {
  for (const auto* list : {&preprocess.mean, &preprocess.std})
    if (list->size() > 1 && static_cast<std::int64_t>(list->size()) != channels)
      return fail(ErrorCode::kInvalidArgument, "preprocess has {} numbers for images of {} channels", list->size(),
                  channels);
  return {};
}

// [n, h, w, c] bytes -> [n, c, h, w] f32.
Tensor planar_images(const Tensor& images, const Preprocess& preprocess, std::int64_t first, std::int64_t size) {
  const std::int64_t pixels = images.dim(1) * images.dim(2), channels = images.dim(3);
  Tensor result = Tensor::uninitialized(DType::kF32, {size, channels, images.dim(1), images.dim(2)});
  const std::uint8_t* bytes = images.values<std::uint8_t>().data();
  float* to = result.values<float>().data();
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t example = std::min(first + i, images.dim(0) - 1);
    const std::uint8_t* image = bytes + example * pixels * channels;
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const float mean = channel_value(preprocess.mean, channel, 0),
                  deviation = channel_value(preprocess.std, channel, 1);
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
        *to++ = (static_cast<float>(image[pixel * channels + channel]) / 255.0F - mean) / deviation;
    }
  }
  return result;
}

bool fits(const Shape& found, const SymbolicShape& declared) {
  if (!declared.ranked) return true;
  if (declared.dims.size() != found.size()) return false;
  for (std::size_t axis = 1; axis < found.size(); ++axis)
    if (declared.dims[axis].known() && declared.dims[axis].size != found[axis]) return false;
  return true;
}

Tensor rows_of(const Tensor& array, std::int64_t first, std::int64_t size) {
  Shape shape = array.shape();
  const std::int64_t last = shape[0] - 1;
  shape[0] = size;
  Tensor result = Tensor::uninitialized(array.dtype(), shape);
  const std::size_t bytes = array.bytes() / static_cast<std::size_t>(last + 1);
  for (std::int64_t i = 0; i < size; ++i)
    std::memcpy(
        static_cast<std::byte*>(result.raw()) + static_cast<std::size_t>(i) * bytes,
        static_cast<const std::byte*>(array.raw()) + static_cast<std::size_t>(std::min(first + i, last)) * bytes,
        bytes);
  return result;
}

// Bytes [n, h, w, c] for a float input [n, c, h, w] are images.
bool is_image_array(const Tensor& array, const TensorInfo& input) {
  const auto& dims = input.shape.dims;
  return array.dtype() == DType::kU8 && array.rank() == 4 && is_float(input.dtype) && dims.size() == 4 &&
         (!dims[1].known() || dims[1].size == array.dim(3));
}

Result<NamedTensor> make_input(const Dataset& data, const TensorInfo& input, const Tensor& array, std::int64_t first,
                               std::int64_t size) {
  Tensor batch;
  if (is_image_array(array, input)) {
    ESPALIER_TRY(check_preprocess(data.preprocess, array.dim(3)));
    batch = planar_images(array, data.preprocess, first, size);
  } else {
    batch = rows_of(array, first, size);
  }
  if (!fits(batch.shape(), input.shape))
    return fail(ErrorCode::kInvalidArgument, "input '{}' expects shape {}, but {} gives {}", input.name,
                to_string(input.shape), data.name, to_string(batch.shape()));
  if (batch.dtype() != input.dtype) batch = batch.cast(input.dtype);
  return NamedTensor{input.name, std::move(batch)};
}

}  // namespace

Result<std::vector<NamedTensor>> make_batch(const Dataset& data, const std::vector<TensorInfo>& inputs,
                                            std::int64_t first, std::int64_t size) {
  if (data.count() == 0) return fail(ErrorCode::kInvalidData, "{}: holds no examples", data.name);
  if (data.images.defined() && inputs.size() != 1)
    return fail(ErrorCode::kInvalidArgument, "{} holds images for one input, but the network has {} inputs", data.name,
                inputs.size());
  std::vector<NamedTensor> batch;
  for (const TensorInfo& input : inputs) {
    Tensor array = data.images;
    for (const NamedTensor& candidate : data.inputs)
      if (candidate.name == input.name) array = candidate.tensor;
    if (!array.defined())
      return fail(ErrorCode::kNotFound, "{}: holds no array '{}', which the network reads", data.name, input.name);
    ESPALIER_ASSIGN(NamedTensor made, make_input(data, input, array, first, size));
    batch.push_back(std::move(made));
  }
  return batch;
}

}  // namespace espalier
