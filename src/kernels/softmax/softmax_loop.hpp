// softmax(scale x) of one contiguous row, in place: three passes over a row that is in L1 or L2, the second of them
// bound by the 12 operations of exp.
//
// -infinity becomes 0, and a row of nothing else NaN, as in a dense softmax; a NaN makes its whole row NaN.
//
// Included by files that are compiled for one instruction set.
#pragma once

#include <cstdint>

#include "kernels/spmm_f32/activation.hpp"

namespace espalier::kernels {

template <typename V>
inline void softmax_row(float* row, std::int64_t count, float scale) {
  using Reg = typename V::Reg;
  constexpr std::int64_t kLanes = V::kLanes;
  constexpr float kLowest = -__builtin_inff();
  // Calls body(place, lanes, value) for whole vectors and the rest, whose other lanes are 0.
  const auto for_vectors = [&](auto body) __attribute__((always_inline)) {
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) body(row + i, kLanes, V::load(row + i));
    if (i < count) body(row + i, count - i, V::load_first(row + i, static_cast<int>(count - i)));
  };
  const auto store = [](float* place, std::int64_t lanes, Reg value) __attribute__((always_inline)) {
    if (lanes == kLanes)
      V::store(place, value);
    else
      V::store_first(place, value, static_cast<int>(lanes));
  };
  alignas(64) float lane[kLanes];
  const Reg scales = V::broadcast(&scale);

  Reg highest = splat<V>(kLowest);
  for_vectors([&](float*, std::int64_t lanes, Reg value) __attribute__((always_inline)) {
    value = V::mul(value, scales);
    if (lanes < kLanes) {
      V::store(lane, value);
      for (std::int64_t i = lanes; i < kLanes; ++i) lane[i] = kLowest;
      value = V::load(lane);
    }
    highest = V::max(highest, value);
  });
  V::store(lane, highest);
  float top = kLowest;
  for (std::int64_t i = 0; i < kLanes; ++i) top = lane[i] > top ? lane[i] : top;
  const Reg tops = V::broadcast(&top);

  Reg total = V::zero();
  for_vectors([&](float* place, std::int64_t lanes, Reg value) __attribute__((always_inline)) {
    const Reg below = V::sub(V::mul(value, scales), tops);
    Reg power = V::select_less(below, splat<V>(-87.3F), V::zero(), exp_vector<V>(below));
    if (lanes < kLanes) {
      V::store(lane, power);
      for (std::int64_t i = lanes; i < kLanes; ++i) lane[i] = 0;
      power = V::load(lane);
    }
    total = V::add(total, power);
    store(place, lanes, power);
  });
  V::store(lane, total);
  float sum = 0;
  for (std::int64_t i = 0; i < kLanes; ++i) sum += lane[i];
  const float share = 1.0F / sum;
  for_vectors([&](float* place, std::int64_t lanes, Reg value)
                  __attribute__((always_inline)) { store(place, lanes, V::mul(value, V::broadcast(&share))); });
}

}  // namespace espalier::kernels
