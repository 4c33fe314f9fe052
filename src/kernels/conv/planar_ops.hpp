// What happens to planar tensors besides convolutions: conversions, pools, additions, phases.
//
// Every function works on planes [begin, end) of a planar tensor (plane p belongs to plane set p / planes) or on what
// its comment says, so that any split of the range over threads does. Planar results are written whole, with zero pads.
// Layouts of one call have the same number of channels per slot unless its comment says otherwise; where that is two
// (bf16), a plane or channel of a range is that of a pair. No allocation, no threads. The table of the best allowed
// instruction set is taken once: const PlanarOps ops = planar_ops(active_isa());
#pragma once

#include <cstdint>
#include <espalier/activation.hpp>
#include <espalier/cpu.hpp>

#include "kernels/conv/planar.hpp"

namespace espalier::conv {

// Share `task` of `tasks` of the planes of a layout.
PlaneRange plane_share(const PlanarLayout& layout, int task, int tasks);
PlaneRange range_share(std::int64_t count, int task, int tasks);

struct PoolShape {
  std::int64_t kernel_h = 2, kernel_w = 2, stride_h = 2, stride_w = 2, pad_top = 0, pad_left = 0, pad_bottom = 0,
               pad_right = 0;
  bool count_include_pad = false;  // average: divide by the whole window
};

struct PlaneLoops;  // plane_loops.hpp

class PlanarOps {
 public:
  explicit PlanarOps(const PlaneLoops& loops) : loops_(&loops) {}

  // f32 [batch, channels, height, width] <-> planar (phases 1), f32 or bf16.
  void from_nchw(const float* nchw, const PlanarLayout& layout, float* planar, PlaneRange planes) const noexcept;
  void to_nchw(const PlanarLayout& layout, const float* planar, float* nchw, PlaneRange planes) const noexcept;
  // [batch, channels / 16, height, width, 16] (oneDNN's nChw16c, channels padded to 16 with zeros) <-> planar.
  // Ranges over batch * ceil(channels / 16) groups of 16 channels.
  void from_blocked16(const float* blocked, const PlanarLayout& layout, float* planar,
                      PlaneRange groups) const noexcept;
  void to_blocked16(const PlanarLayout& layout, const float* planar, float* blocked, PlaneRange groups) const noexcept;
  // [batch, height, width, channels] <-> planar, both of one type; ranges over batch * ceil(slots / 16) groups of 16
  // slots.
  void from_nhwc(const float* nhwc, const PlanarLayout& layout, float* planar, PlaneRange groups) const noexcept;
  void to_nhwc(const PlanarLayout& layout, const float* planar, float* nhwc, PlaneRange groups) const noexcept;
  // Planes of f32 <-> the same planes of bf16; ranges over planes of pairs.
  void narrow(const PlanarLayout& pairs, const float* from, float* to, PlaneRange planes) const noexcept;
  void widen(const PlanarLayout& pairs, const float* from, float* to, PlaneRange planes) const noexcept;
  // The image `in` split by parity into `out` (4 phases), or its even rows and columns (1 phase): the pixels at `slots`
  // (from the origin on) of every plane of `channels`, which count over all sets of the output. Shares that cover the
  // planes make the whole; the one with slot 0 clears what lies outside the images.
  void split_phases(const PlanarLayout& in, const float* planar, const PlanarLayout& out, float* phases,
                    PlaneRange channels, PlaneRange slots = {0, INT64_MAX}) const noexcept;
  // Pools of any window; vectorised for 3x3 and 2x2 with stride 2 and for stride 1.
  void max_pool(const PoolShape& pool, const PlanarLayout& in, const float* x, const PlanarLayout& out, float* y,
                PlaneRange planes) const noexcept;
  void average_pool(const PoolShape& pool, const PlanarLayout& in, const float* x, const PlanarLayout& out, float* y,
                    PlaneRange planes) const noexcept;
  // Mean over each image -> f32 [batch, channels], row-major; ranges over planes of `in`.
  void global_average(const PlanarLayout& in, const float* x, float* y, PlaneRange planes) const noexcept;
  // y = clamp(a + b, low, high) in one layout; b may be nullptr.
  void add(const PlanarLayout& layout, const float* a, const float* b, float low, float high, float* y,
           PlaneRange planes) const noexcept;

 private:
  const PlaneLoops* loops_;
};

// The functions for the highest instruction set at or below `isa`.
PlanarOps planar_ops(Isa isa);

// Any activation over planes in place, pads kept zero (kRelu and kClip are cheaper as bounds of `add`).
void activate_planes(const PlanarLayout& layout, float* planar, Activation activation, float low, float high,
                     PlaneRange planes);
// The same over slots [begin, end) of one plane, from its origin on.
struct SlotActivation {
  Activation activation = Activation::kNone;
  float low = 0, high = 0;
  int per_slot = 1;
};
void activate_slots(float* plane, const std::uint8_t* pixel_mask, std::int64_t begin, std::int64_t end,
                    const SlotActivation& how) noexcept;

}  // namespace espalier::conv
