// Slots of two bf16 as two registers of f32, over the lanes `V` of an instruction set (lanes_*.hpp). Include from
// kernel files only.
#pragma once

#include <cstdint>

namespace espalier::conv {
namespace {

template <class V>
struct LanesPairs {
  struct Reg {
    typename V::Reg lower, upper;
  };
  using Mask = typename V::Mask;
  static constexpr int kWidth = V::kWidth;

  static Reg widen(typename V::Reg slots) { return {V::lower_of(slots), V::upper_of(slots)}; }
  static typename V::Reg narrow(Reg r) { return V::pair_of(r.lower, r.upper); }

  static Reg zero() { return {V::zero(), V::zero()}; }
  static Reg load(const float* p) { return widen(V::load(p)); }
  static Reg load_even(const float* p) { return widen(V::load_even(p)); }
  static Reg load_first(const float* p, int count) { return widen(V::load_first(p, count)); }
  static void store(float* p, Reg r) { V::store(p, narrow(r)); }
  static void store_first(float* p, Reg r, int count) { V::store_first(p, narrow(r), count); }
  // An f32 for both channels.
  static Reg broadcast(const float* p) { return {V::broadcast(p), V::broadcast(p)}; }
  static Reg add(Reg a, Reg b) { return {V::add(a.lower, b.lower), V::add(a.upper, b.upper)}; }
  static Reg mul(Reg a, Reg b) { return {V::mul(a.lower, b.lower), V::mul(a.upper, b.upper)}; }
  static Reg max_nan(Reg a, Reg b) { return {V::max_nan(a.lower, b.lower), V::max_nan(a.upper, b.upper)}; }
  static Reg clamp(Reg x, Reg low, Reg high) {
    return {V::clamp(x.lower, low.lower, high.lower), V::clamp(x.upper, low.upper, high.upper)};
  }
  static Mask pixels(const std::uint8_t* mask, std::int64_t slot) { return V::pixels(mask, slot); }
  static Reg keep(Mask mask, Reg r) { return {V::keep(mask, r.lower), V::keep(mask, r.upper)}; }
};

}  // namespace
}  // namespace espalier::conv
