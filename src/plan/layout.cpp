// Names and equivalences of layouts.
#include "plan/layout.hpp"

namespace espalier::plan {

std::string_view to_string(Layout layout) noexcept {
  switch (layout) {
    case Layout::kPlain:
      return "plain";
    case Layout::kChannelsLast:
      return "channels_last";
    case Layout::kPlanar:
      return "planar";
    case Layout::kPlanarPhases:
      return "planar_phases";
    case Layout::kPlanarEven:
      return "planar_even";
    case Layout::kPlainBf16:
      return "plain_bf16";
    case Layout::kChannelsLastBf16:
      return "channels_last_bf16";
    case Layout::kPlanarBf16:
      return "planar_bf16";
    case Layout::kPlanarPhasesBf16:
      return "planar_phases_bf16";
    case Layout::kPlanarEvenBf16:
      return "planar_even_bf16";
  }
  return "?";
}

bool same_bytes(const Shape& shape, Layout a, Layout b) noexcept {
  if (a == b) return true;
  if (is_planar(a) || is_planar(b) || is_bf16(a) != is_bf16(b)) return false;
  if (shape.size() < 3) return true;
  std::int64_t pixels = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) pixels *= shape[i];
  return pixels == 1 || shape[1] == 1;
}

Shape channels_last(const Shape& shape) {
  Shape moved = shape;
  if (shape.size() < 3) return moved;
  moved.erase(moved.begin() + 1);
  moved.push_back(shape[1]);
  return moved;
}

}  // namespace espalier::plan
