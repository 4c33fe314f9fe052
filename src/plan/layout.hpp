// Where the elements of an activation lie and whether they are kept as bf16; a property of each buffer of a Program.
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
  kPlanarEven,    // the planes' even rows and columns, for a 1x1 convolution of stride 2
  // The same with elements rounded to bf16; two channels share a slot of a plane.
  kPlainBf16,
  kChannelsLastBf16,
  kPlanarBf16,
  kPlanarPhasesBf16,
  kPlanarEvenBf16
};

std::string_view to_string(Layout layout) noexcept;

constexpr bool is_bf16(Layout layout) { return layout >= Layout::kPlainBf16; }
constexpr Layout without_bf16(Layout layout) {
  constexpr auto kFirst = static_cast<int>(Layout::kPlainBf16);
  return is_bf16(layout) ? static_cast<Layout>(static_cast<int>(layout) - kFirst) : layout;
}
// The same places in f32 or in bf16.
constexpr Layout with_bf16(Layout layout, bool bf16 = true) {
  constexpr auto kFirst = static_cast<int>(Layout::kPlainBf16);
  return bf16 ? static_cast<Layout>(static_cast<int>(without_bf16(layout)) + kFirst) : without_bf16(layout);
}
constexpr bool is_planar(Layout layout) { return without_bf16(layout) >= Layout::kPlanar; }

// Whether the two layouts put this tensor's bytes in the same places (one channel, or one pixel).
bool same_bytes(const Shape& shape, Layout a, Layout b) noexcept;

// The shape with the channels moved to the end: what a channels-last buffer looks like to a row-major reader.
Shape channels_last(const Shape& shape);

}  // namespace espalier::plan
