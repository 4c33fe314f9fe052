// The activations on vectors of f32 and f64. In f32, exp: range reduction by ln 2 and a polynomial of degree 6
// (relative error below 3e-7); erf: Abramowitz and Stegun 7.1.26 (absolute error below 2e-7). NaN stays NaN.
#pragma once

#include <cstdint>

#include "kernels/spmm_args.hpp"

namespace espalier::kernels {

template <typename V>
inline typename V::Reg splat(typename V::Element value) {
  return V::broadcast(&value);
}

template <typename V>
inline typename V::Reg exp_vector(typename V::Reg x) {
  // Beyond these bounds the result is 0 or infinity in f32; max(bound, x) keeps a NaN in x.
  x = V::min(splat<V>(88.72F), V::max(splat<V>(-87.33F), x));
  const auto power = V::round(V::mul(x, splat<V>(1.44269504F)));
  auto rest = V::fma(power, splat<V>(-0.693359375F), x);
  rest = V::fma(power, splat<V>(2.12194440e-4F), rest);
  auto p = splat<V>(1.9875691500e-4F);
  p = V::fma(p, rest, splat<V>(1.3981999507e-3F));
  p = V::fma(p, rest, splat<V>(8.3334519073e-3F));
  p = V::fma(p, rest, splat<V>(4.1665795894e-2F));
  p = V::fma(p, rest, splat<V>(1.6666665459e-1F));
  p = V::fma(p, rest, splat<V>(5.0000001201e-1F));
  p = V::fma(p, V::mul(rest, rest), V::add(rest, splat<V>(1.0F)));
  return V::times_power_of_two(p, power);
}

template <typename V>
inline typename V::Reg sigmoid_vector(typename V::Reg x) {
  const auto e = exp_vector<V>(V::sub(V::zero(), x));
  return V::div(splat<V>(1.0F), V::add(splat<V>(1.0F), e));
}

template <typename V>
inline typename V::Reg tanh_vector(typename V::Reg x) {
  // 2 sigmoid(2x) - 1 cancels near 0; there a series of x is exact enough.
  const auto wide = V::sub(V::mul(splat<V>(2.0F), sigmoid_vector<V>(V::mul(splat<V>(2.0F), x))), splat<V>(1.0F));
  const auto square = V::mul(x, x);
  auto p = splat<V>(-17.0F / 315.0F);
  p = V::fma(p, square, splat<V>(2.0F / 15.0F));
  p = V::fma(p, square, splat<V>(-1.0F / 3.0F));
  const auto near_zero = V::fma(V::mul(p, square), x, x);
  return V::select_less(square, splat<V>(0.04F), near_zero, wide);
}

template <typename V>
inline typename V::Reg erf_vector(typename V::Reg x) {
  const auto magnitude = V::max(V::sub(V::zero(), x), x);
  const auto t = V::div(splat<V>(1.0F), V::fma(splat<V>(0.3275911F), magnitude, splat<V>(1.0F)));
  auto p = splat<V>(1.061405429F);
  p = V::fma(p, t, splat<V>(-1.453152027F));
  p = V::fma(p, t, splat<V>(1.421413741F));
  p = V::fma(p, t, splat<V>(-0.284496736F));
  p = V::fma(p, t, splat<V>(0.254829592F));
  const auto tail = V::mul(V::mul(p, t), exp_vector<V>(V::sub(V::zero(), V::mul(x, x))));
  const auto positive = V::sub(splat<V>(1.0F), tail);
  return V::select_less(x, V::zero(), V::sub(V::zero(), positive), positive);
}

template <typename V>
[[gnu::noinline]] inline typename V::Reg activate_rare(const Epilogue& e, typename V::Reg x) {
  const auto half = splat<V>(0.5F), one = splat<V>(1.0F);
  switch (e.activation) {
    case Activation::kHardSwish:
      return V::mul(V::mul(x, V::min(splat<V>(6.0F), V::max(V::zero(), V::add(x, splat<V>(3.0F))))),
                    splat<V>(1.0F / 6));
    case Activation::kSigmoid:
      return sigmoid_vector<V>(x);
    case Activation::kTanh:
      return tanh_vector<V>(x);
    case Activation::kGelu:
      return V::mul(V::mul(half, x), V::add(one, erf_vector<V>(V::mul(x, splat<V>(0.70710678F)))));
    case Activation::kGeluTanh: {
      const auto cubic = V::fma(V::mul(V::mul(x, x), x), splat<V>(0.044715F), x);
      return V::mul(V::mul(half, x), V::add(one, tanh_vector<V>(V::mul(cubic, splat<V>(0.79788456F)))));
    }
    case Activation::kLeakyRelu:
      return V::select_less(x, V::zero(), V::mul(x, splat<V>(static_cast<typename V::Element>(e.low))), x);
    case Activation::kSilu:
      return V::mul(x, sigmoid_vector<V>(x));
    default:
      return x;
  }
}

// The same in f64, to its precision.
inline double activate_f64(const Epilogue& e, double x) {
  switch (e.activation) {
    case Activation::kHardSwish:
      return x * __builtin_fmin(6.0, __builtin_fmax(0.0, x + 3.0)) / 6.0;
    case Activation::kSigmoid:
      return 1.0 / (1.0 + __builtin_exp(-x));
    case Activation::kTanh:
      return __builtin_tanh(x);
    case Activation::kGelu:
      return 0.5 * x * (1.0 + __builtin_erf(x * 0.70710678118654752));
    case Activation::kGeluTanh:
      return 0.5 * x * (1.0 + __builtin_tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    case Activation::kLeakyRelu:
      return x < 0 ? x * e.low : x;
    case Activation::kSilu:
      return x / (1.0 + __builtin_exp(-x));
    default:
      return x;
  }
}

template <typename V>
[[gnu::noinline]] inline typename V::Reg activate_lanes(const Epilogue& e, typename V::Reg x) {
  alignas(64) double lanes[V::kLanes];
  V::store(lanes, x);
  for (double& lane : lanes) lane = activate_f64(e, lane);
  return V::load(lanes);
}

template <typename V>
inline typename V::Reg activate_vector(const Epilogue& e, typename V::Reg x) {
  switch (e.activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return V::max(V::zero(), x);
    case Activation::kClip:
      return V::min(splat<V>(static_cast<typename V::Element>(e.high)),
                    V::max(splat<V>(static_cast<typename V::Element>(e.low)), x));
    default:
      if constexpr (sizeof(typename V::Element) == sizeof(double))
        return activate_lanes<V>(e, x);
      else
        return activate_rare<V>(e, x);
  }
}

}  // namespace espalier::kernels
