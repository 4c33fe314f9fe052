// Slots of two bf16 where no instruction multiplies them: both halves are widened to f32, exactly, and multiplied in
// f32. Over the lanes `V` of an instruction set. Include from kernel files only.
//
// Registers of a tile: kRows * kVecs sums, 2 kVecs pixels, 2 weights. Twice the multiply-adds of a step in f32 for two
// channels instead of one, and two instructions to widen each vector and weight: as fast as f32 where arithmetic
// binds, with half the bytes.
#pragma once

#include "kernels/conv/lanes_pairs.hpp"

namespace espalier::conv {
namespace {

template <class V>
struct WidenedSlots {
  using Lanes = V;
  using Reg = typename V::Reg;
  using Pair = typename LanesPairs<V>::Reg;
  static constexpr int kPerSlot = 2;

  static Pair pixels(const float* p) { return LanesPairs<V>::load(p); }
  static Pair weight(const float* p) { return LanesPairs<V>::widen(V::broadcast(p)); }
  static Reg multiply_add(Pair weight, Pair pixels, Reg sum) {
    return V::fma(weight.upper, pixels.upper, V::fma(weight.lower, pixels.lower, sum));
  }
  static Reg pair_of(Reg lower, Reg upper) { return V::pair_of(lower, upper); }
};

}  // namespace
}  // namespace espalier::conv
