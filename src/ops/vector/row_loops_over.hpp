// The loops of row_loops.hpp over a vector type V (kernels/spmm_f32/vector_*.hpp); each instruction-set file
// instantiates them once. Memory bounds the activations that are not transcendental; exp, about 12 instructions a
// vector, bounds the others.
#pragma once

#include <cstdint>

#include "kernels/spmm_f32/activation.hpp"
#include "ops/vector/row_loops.hpp"

namespace espalier::ops {
namespace {

// f(vector) over a row, its ragged end in a partial vector.
template <typename V, typename F>
inline void map_row(const float* x, float* y, std::int64_t count, F f) {
  std::int64_t i = 0;
  for (; i + V::kLanes <= count; i += V::kLanes) V::store(y + i, f(V::load(x + i)));
  if (i < count) {
    const int lanes = static_cast<int>(count - i);
    V::store_first(y + i, f(V::load_first(x + i, lanes)), lanes);
  }
}

template <typename V>
inline float add_lanes(typename V::Reg v) {
  float lanes[V::kLanes];
  V::store(lanes, v);
  float sum = 0;
  for (int i = 0; i < V::kLanes; ++i) sum += lanes[i];
  return sum;
}

template <typename V>
inline float largest_lane(typename V::Reg v) {
  float lanes[V::kLanes];
  V::store(lanes, v);
  float largest = lanes[0];
  for (int i = 1; i < V::kLanes; ++i) largest = lanes[i] > largest ? lanes[i] : largest;
  return largest;
}

// The sum of term(i) over whole vectors in four accumulators, and of scalar(i) over the ragged end.
template <typename V, typename F, typename S>
inline float accumulate(std::int64_t count, F term, S scalar) {
  typename V::Reg sums[4] = {V::zero(), V::zero(), V::zero(), V::zero()};
  std::int64_t i = 0;
  for (; i + 4 * V::kLanes <= count; i += 4 * V::kLanes)
    for (int k = 0; k < 4; ++k) sums[k] = V::add(sums[k], term(i + k * V::kLanes));
  for (; i + V::kLanes <= count; i += V::kLanes) sums[0] = V::add(sums[0], term(i));
  float sum = add_lanes<V>(V::add(V::add(sums[0], sums[1]), V::add(sums[2], sums[3])));
  for (; i < count; ++i) sum += scalar(i);
  return sum;
}

template <typename V>
struct RowLoopsOver {
  static void activate(const ActivateArgs& args) {
    kernels::Epilogue epilogue;
    epilogue.activation = args.activation;
    epilogue.low = args.low;
    epilogue.high = args.high;
    if (args.residual == nullptr) {
      map_row<V>(args.x, args.y, args.count, [&](auto x) { return kernels::activate_vector<V>(epilogue, x); });
      return;
    }
    std::int64_t i = 0;
    for (; i + V::kLanes <= args.count; i += V::kLanes)
      V::store(args.y + i,
               kernels::activate_vector<V>(epilogue, V::add(V::load(args.x + i), V::load(args.residual + i))));
    if (i < args.count) {
      const int lanes = static_cast<int>(args.count - i);
      const auto sum = V::add(V::load_first(args.x + i, lanes), V::load_first(args.residual + i, lanes));
      V::store_first(args.y + i, kernels::activate_vector<V>(epilogue, sum), lanes);
    }
  }

  static void softmax(const float* x, float* y, std::int64_t count) {
    float largest = x[0];
    std::int64_t i = 0;
    if (count >= V::kLanes) {
      auto best = V::load(x);
      for (i = V::kLanes; i + V::kLanes <= count; i += V::kLanes) best = V::max(V::load(x + i), best);
      largest = largest_lane<V>(best);
    }
    for (; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
    const auto shift = kernels::splat<V>(largest);
    map_row<V>(x, y, count, [&](auto v) { return kernels::exp_vector<V>(V::sub(v, shift)); });
    const auto scale = kernels::splat<V>(1.0F / sum(y, count));
    map_row<V>(y, y, count, [&](auto v) { return V::mul(v, scale); });
  }

  static void normalise(NormaliseArgs& args) {
    const float* x = args.x;
    const auto count = static_cast<float>(args.count);
    const float mean = sum(x, args.count) / count;
    const auto mean_vector = kernels::splat<V>(mean);
    const float squares = accumulate<V>(
        args.count,
        [&](std::int64_t i) {
          const auto distance = V::sub(V::load(x + i), mean_vector);
          return V::mul(distance, distance);
        },
        [&](std::int64_t i) { return (x[i] - mean) * (x[i] - mean); });
    const float inverse = 1.0F / __builtin_sqrtf(squares / count + args.epsilon);
    args.mean = mean;
    args.inverse_deviation = inverse;
    const auto inverse_vector = kernels::splat<V>(inverse);
    const auto finish = [&](auto v, auto scale, auto bias) {
      return V::fma(V::mul(V::sub(v, mean_vector), inverse_vector), scale, bias);
    };
    std::int64_t i = 0;
    for (; i + V::kLanes <= args.count; i += V::kLanes)
      V::store(args.y + i, finish(V::load(x + i), V::load(args.scale + i),
                                  args.bias != nullptr ? V::load(args.bias + i) : V::zero()));
    if (i < args.count) {
      const int lanes = static_cast<int>(args.count - i);
      V::store_first(args.y + i,
                     finish(V::load_first(x + i, lanes), V::load_first(args.scale + i, lanes),
                            args.bias != nullptr ? V::load_first(args.bias + i, lanes) : V::zero()),
                     lanes);
    }
  }

  // Beyond the range of exp_vector: infinity above, 0 below.
  static void exp(const float* x, float* y, std::int64_t count) {
    const auto high = kernels::splat<V>(88.72284F), low = kernels::splat<V>(-87.33F);
    const auto infinity = kernels::splat<V>(__builtin_inff());
    map_row<V>(x, y, count, [&](auto v) {
      const auto inside = kernels::exp_vector<V>(v);
      return V::select_less(high, v, infinity, V::select_less(v, low, V::zero(), inside));
    });
  }

  static void erf(const float* x, float* y, std::int64_t count) {
    map_row<V>(x, y, count, [](auto v) { return kernels::erf_vector<V>(v); });
  }

  static float sum(const float* x, std::int64_t count) {
    return accumulate<V>(
        count, [&](std::int64_t i) { return V::load(x + i); }, [&](std::int64_t i) { return x[i]; });
  }
};

template <typename V>
constexpr RowLoops kRowLoopsOver = {
    RowLoopsOver<V>::activate, RowLoopsOver<V>::softmax, RowLoopsOver<V>::normalise,
    RowLoopsOver<V>::exp,      RowLoopsOver<V>::erf,     RowLoopsOver<V>::sum,
};

}  // namespace
}  // namespace espalier::ops
