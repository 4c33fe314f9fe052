#include <algorithm>
#include <cmath>
#include <espalier/activation.hpp>

namespace espalier {

std::string_view to_string(Activation activation) noexcept {
  switch (activation) {
    case Activation::kNone:
      return "none";
    case Activation::kRelu:
      return "relu";
    case Activation::kClip:
      return "clip";
    case Activation::kHardSwish:
      return "hard_swish";
    case Activation::kSigmoid:
      return "sigmoid";
    case Activation::kTanh:
      return "tanh";
    case Activation::kGelu:
      return "gelu";
    case Activation::kGeluTanh:
      return "gelu_tanh";
    case Activation::kLeakyRelu:
      return "leaky_relu";
    case Activation::kSilu:
      return "silu";
  }
  return "?";
}

float activate(Activation activation, float x, float low, float high) noexcept {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x < 0 ? 0 : x;
    case Activation::kClip:
      return x < low ? low : (x > high ? high : x);
    case Activation::kHardSwish:
      return x * (std::isnan(x) ? x : std::clamp(x + 3.0F, 0.0F, 6.0F)) / 6.0F;
    case Activation::kSigmoid:
      return 1.0F / (1.0F + std::exp(-x));
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kGelu:
      return 0.5F * x * (1.0F + std::erf(x * 0.70710678F));
    case Activation::kGeluTanh:
      return 0.5F * x * (1.0F + std::tanh(0.79788456F * (x + 0.044715F * x * x * x)));
    case Activation::kLeakyRelu:
      return x < 0 ? low * x : x;
    case Activation::kSilu:
      return x / (1.0F + std::exp(-x));
  }
  return x;
}

}  // namespace espalier
