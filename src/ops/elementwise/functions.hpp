// Scalar activation functions, for float and double. NaN passes through each of them.
#pragma once

#include <cmath>

namespace espalier::ops {

template <typename T>
T relu(T x) {
  return x < 0 ? T(0) : x;
}

template <typename T>
T clip(T x, T low, T high) {
  const T lifted = x < low ? low : x;
  return lifted > high ? high : lifted;
}

template <typename T>
T sigmoid(T x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

template <typename T>
T hard_sigmoid(T x, T alpha, T beta) {
  return clip(alpha * x + beta, T(0), T(1));
}

template <typename T>
T hard_swish(T x) {
  return x * hard_sigmoid(x, T(1) / 6, T(0.5));
}

// log(1 + exp(x)) without overflow.
template <typename T>
T softplus(T x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

template <typename T>
T gelu(T x) {
  return T(0.5) * x * (1 + std::erf(x * T(0.70710678118654752440)));
}

template <typename T>
T gelu_tanh(T x) {
  return T(0.5) * x * (1 + std::tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x)));
}

}  // namespace espalier::ops
