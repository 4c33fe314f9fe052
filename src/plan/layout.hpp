// Where the elements of an activation lie; a property of each buffer of a Program.
#pragma once

#include <cstdint>
#include <espalier/tensor.hpp>
#include <string_view>

namespace espalier::plan {

enum class Layout : std::uint8_t {
  kPlain,         // row-major, as ONNX has it: N x C x spatial
  kChannelsLast,  // N x spatial x C: oneDNN's dense kernels
  kPlanar,        // padded channel planes: the block-sparse convolutions (kernels/conv)
  kPlanarPhases,  // the planes split by parity of row and column, for a convolution of stride 2
  kPlanarEven     // the planes' even rows and columns, for a 1x1 convolution of stride 2
};

std::string_view to_string(Layout layout) noexcept;

constexpr bool is_planar(Layout layout) { return layout >= Layout::kPlanar; }

// Whether the two layouts put this tensor's bytes in the same places (one channel, or one pixel).
bool same_bytes(const Shape& shape, Layout a, Layout b) noexcept;

// The shape with the channels moved to the end: what a kChannelsLast buffer looks like to a row-major reader.
Shape channels_last(const Shape& shape);

}  // namespace espalier::plan
