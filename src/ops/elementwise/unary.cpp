// Element-wise operators with one input and the output's type equal to the input's: a table of scalar functions.
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/dispatch.hpp"
#include "ops/elementwise/functions.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"
#include "ops/vector/row_loops.hpp"
#include "ops/walk.hpp"

namespace espalier::ops {
namespace {

// The two float attributes that activations have at most.
struct Parameters {
  float alpha = 0, beta = 0;
};

// A functor F is called as F{}(x, parameters); F::kDefaults are the attributes' defaults, F::kSecond the second
// attribute's name.
struct Plain {
  static constexpr Parameters kDefaults{};
  static constexpr const char* kSecond = "beta";
};

#define ESPALIER_FLOAT_FUNCTION(Name, expression) \
  struct Name : Plain {                           \
    template <typename T>                         \
    T operator()(T x, const Parameters&) const {  \
      return static_cast<T>(expression);          \
    }                                             \
  }
ESPALIER_FLOAT_FUNCTION(Exp, std::exp(x));
ESPALIER_FLOAT_FUNCTION(Log, std::log(x));
ESPALIER_FLOAT_FUNCTION(Sqrt, std::sqrt(x));
ESPALIER_FLOAT_FUNCTION(Reciprocal, 1 / x);
ESPALIER_FLOAT_FUNCTION(Floor, std::floor(x));
ESPALIER_FLOAT_FUNCTION(Ceil, std::ceil(x));
ESPALIER_FLOAT_FUNCTION(Round, std::nearbyint(x));
ESPALIER_FLOAT_FUNCTION(Sin, std::sin(x));
ESPALIER_FLOAT_FUNCTION(Cos, std::cos(x));
ESPALIER_FLOAT_FUNCTION(Tan, std::tan(x));
ESPALIER_FLOAT_FUNCTION(Asin, std::asin(x));
ESPALIER_FLOAT_FUNCTION(Acos, std::acos(x));
ESPALIER_FLOAT_FUNCTION(Atan, std::atan(x));
ESPALIER_FLOAT_FUNCTION(Sinh, std::sinh(x));
ESPALIER_FLOAT_FUNCTION(Cosh, std::cosh(x));
ESPALIER_FLOAT_FUNCTION(Asinh, std::asinh(x));
ESPALIER_FLOAT_FUNCTION(Acosh, std::acosh(x));
ESPALIER_FLOAT_FUNCTION(Atanh, std::atanh(x));
ESPALIER_FLOAT_FUNCTION(Erf, std::erf(x));
ESPALIER_FLOAT_FUNCTION(Tanh, std::tanh(x));
ESPALIER_FLOAT_FUNCTION(Sigmoid, sigmoid(x));
ESPALIER_FLOAT_FUNCTION(HardSwish, hard_swish(x));
ESPALIER_FLOAT_FUNCTION(Silu, x* sigmoid(x));
ESPALIER_FLOAT_FUNCTION(Softplus, softplus(x));
ESPALIER_FLOAT_FUNCTION(Softsign, x / (1 + std::abs(x)));
ESPALIER_FLOAT_FUNCTION(Mish, x* std::tanh(softplus(x)));
ESPALIER_FLOAT_FUNCTION(Relu, x < 0 ? T(0) : x);
#undef ESPALIER_FLOAT_FUNCTION

// Integers wrap: -INT_MIN is INT_MIN.
struct Neg : Plain {
  template <typename T>
  T operator()(T x, const Parameters&) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));
    else
      return -x;
  }
};
struct Abs : Plain {
  template <typename T>
  T operator()(T x, const Parameters& p) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::abs(x);
    else
      return x < 0 ? Neg{}(x, p) : x;
  }
};
struct Sign : Plain {
  template <typename T>
  T operator()(T x, const Parameters&) const {
    if constexpr (std::is_floating_point_v<T>)
      if (std::isnan(x)) return x;
    return static_cast<T>((T(0) < x) - (x < T(0)));
  }
};
struct Not : Plain {
  bool operator()(bool x, const Parameters&) const { return !x; }
};

struct LeakyRelu : Plain {
  static constexpr Parameters kDefaults{.alpha = 0.01F, .beta = 0};
  template <typename T>
  T operator()(T x, const Parameters& p) const {
    return x < 0 ? T(p.alpha) * x : x;
  }
};
struct ThresholdedRelu : Plain {
  static constexpr Parameters kDefaults{.alpha = 1, .beta = 0};
  template <typename T>
  T operator()(T x, const Parameters& p) const {
    return x > T(p.alpha) ? x : T(0);
  }
};
struct Elu : Plain {
  static constexpr Parameters kDefaults{.alpha = 1, .beta = 0};
  template <typename T>
  T operator()(T x, const Parameters& p) const {
    return x < 0 ? T(p.alpha) * std::expm1(x) : x;
  }
};
struct Celu : Plain {
  static constexpr Parameters kDefaults{.alpha = 1, .beta = 0};
  template <typename T>
  T operator()(T x, const Parameters& p) const {
    return x < 0 ? T(p.alpha) * std::expm1(x / T(p.alpha)) : x;
  }
};
struct Selu : Plain {
  static constexpr Parameters kDefaults{.alpha = 1.67326319217681884765625F, .beta = 1.05070102214813232421875F};
  static constexpr const char* kSecond = "gamma";
  template <typename T>
  T operator()(T x, const Parameters& p) const {
    return T(p.beta) * (x > 0 ? x : T(p.alpha) * std::expm1(x));
  }
};
struct HardSigmoid : Plain {
  static constexpr Parameters kDefaults{.alpha = 0.2F, .beta = 0.5F};
  template <typename T>
  T operator()(T x, const Parameters& p) const {
    return hard_sigmoid(x, T(p.alpha), T(p.beta));
  }
};
struct Shrink : Plain {
  static constexpr Parameters kDefaults{.alpha = 0.5F, .beta = 0};  // lambd and bias
  template <typename T>
  T operator()(T x, const Parameters& p) const {
    const T limit = static_cast<T>(p.alpha), bias = static_cast<T>(p.beta);
    return x < -limit ? static_cast<T>(x + bias) : x > limit ? static_cast<T>(x - bias) : T(0);
  }
};

template <typename F, typename T>
void map(const RunContext& context, const Parameters& parameters) {
  const T* x = context.input(0).values<T>().data();
  T* y = context.outputs[0].values<T>().data();
  parallel_ranges(context.executor, context.outputs[0].count(), kGrain, [&](std::int64_t first, std::int64_t last) {
    const Parameters p = parameters;
    for (std::int64_t i = first; i < last; ++i) y[i] = F{}(x[i], p);
  });
}

template <typename F>
Parameters parameters_of(const Node& node) {
  return {.alpha = node.float_or("alpha", F::kDefaults.alpha), .beta = node.float_or(F::kSecond, F::kDefaults.beta)};
}

// f32 on vectors; false on the baseline.
template <typename F>
bool run_vector(const RunContext& context, F&& row) {
  const RowLoops* loops = row_loops();
  if (loops == nullptr || context.input(0).dtype() != DType::kF32) return false;
  const float* x = context.input(0).values<float>().data();
  float* y = context.outputs[0].values<float>().data();
  parallel_ranges(context.executor, context.outputs[0].count(), kGrain,
                  [&](std::int64_t first, std::int64_t last) { row(*loops, x + first, y + first, last - first); });
  return true;
}

bool activate_vector(const RunContext& context, Activation activation, float low = 0) {
  return run_vector(context, [=](const RowLoops& loops, const float* x, float* y, std::int64_t count) {
    loops.activate({.activation = activation, .low = low, .x = x, .y = y, .count = count});
  });
}

template <typename F>
Status run_float(const RunContext& context) {
  if (context.input(0).dtype() == DType::kF64)
    map<F, double>(context, parameters_of<F>(context.node));
  else
    map<F, float>(context, parameters_of<F>(context.node));
  return {};
}

template <typename F>
Status run_number(const RunContext& context) {
  dispatch(context.input(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
      map<F, T>(context, parameters_of<F>(context.node));
  });
  return {};
}

// The operators that have vector loops; F is their scalar form.
template <typename F, Activation kActivation>
Status run_activation(const RunContext& context) {
  const float low = kActivation == Activation::kLeakyRelu ? parameters_of<F>(context.node).alpha : 0;
  if (activate_vector(context, kActivation, low)) return {};
  if constexpr (kActivation == Activation::kRelu)
    return run_number<F>(context);
  else
    return run_float<F>(context);
}

Status run_exp(const RunContext& context) {
  const auto row = [](const RowLoops& loops, const float* x, float* y, std::int64_t count) { loops.exp(x, y, count); };
  return run_vector(context, row) ? Status() : run_float<Exp>(context);
}

Status run_erf(const RunContext& context) {
  const auto row = [](const RowLoops& loops, const float* x, float* y, std::int64_t count) { loops.erf(x, y, count); };
  return run_vector(context, row) ? Status() : run_float<Erf>(context);
}

Status run_not(const RunContext& context) {
  map<Not, bool>(context, {});
  return {};
}

Status run_shrink(const RunContext& context) {
  const Parameters p{.alpha = context.node.float_or("lambd", Shrink::kDefaults.alpha),
                     .beta = context.node.float_or("bias", 0)};
  dispatch(context.input(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) map<Shrink, T>(context, p);
  });
  return {};
}

Status run_gelu(const RunContext& context) {
  const bool tanh_form = text(context.node, "approximate", "none") == "tanh";
  if (activate_vector(context, tanh_form ? Activation::kGeluTanh : Activation::kGelu)) return {};
  const auto apply = [&](auto zero) {
    using T = decltype(zero);
    const T* x = context.input(0).values<T>().data();
    T* y = context.outputs[0].values<T>().data();
    parallel_ranges(context.executor, context.outputs[0].count(), kGrain / 4,
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t i = first; i < last; ++i) y[i] = tanh_form ? gelu_tanh(x[i]) : gelu(x[i]);
                    });
  };
  if (context.input(0).dtype() == DType::kF64)
    apply(double{});
  else
    apply(float{});
  return {};
}

std::string supports_gelu(const Node& node) {
  const std::string_view form = text(node, "approximate", "none");
  if (form == "none" || form == "tanh") return {};
  return fmt::format("attribute approximate is '{}', supported are 'none' and 'tanh'", form);
}

constexpr int kSince1[] = {1, 6, 13};
constexpr int kSince7[] = {7, 22};
constexpr int kSince9[] = {9, 13};
constexpr int kSince9Trigonometric[] = {9, 22};
constexpr int kSinceRelu[] = {1, 6, 13, 14};
constexpr int kSinceLeaky[] = {6, 16};
constexpr int kSinceActivation[] = {1, 6, 22};
constexpr int kSinceOne[] = {1};
constexpr int kSince10[] = {10, 22};
constexpr int kSince11[] = {11, 22};
constexpr int kSince12[] = {12};
constexpr int kSince14[] = {14, 22};
constexpr int kSince18[] = {18, 22};
constexpr int kSince20[] = {20};

constexpr OpDef row(std::string_view op, std::span<const int> since, RunFn run, TypeSet allowed = kFloatTypes) {
  return {.op = op,
          .since = since,
          .types = allowed,
          .infer = infer_like_input,
          .run = run,
          .in_place = true,
          .widen = true};
}

constexpr OpDef gelu_row() {
  OpDef def = row("Gelu", kSince20, run_gelu);
  def.supports = supports_gelu;
  return def;
}

// What a pass recognises though ONNX writes it as Mul and Sigmoid.
constexpr OpDef silu_row() {
  OpDef def = row("Silu", kSinceOne, run_activation<Silu, Activation::kSilu>);
  def.domain = "espalier";
  return def;
}

const OpDef kRows[] = {
    silu_row(),
    row("Abs", kSince1, run_number<Abs>, kNumberTypes),
    row("Neg", kSince1, run_number<Neg>, kFloatTypes | kSignedTypes),
    row("Sign", kSince9, run_number<Sign>, kNumberTypes),
    row("Not", kSinceOne, run_not, kBoolType),
    row("Exp", kSince1, run_exp),
    row("Log", kSince1, run_float<Log>),
    row("Sqrt", kSince1, run_float<Sqrt>),
    row("Reciprocal", kSince1, run_float<Reciprocal>),
    row("Floor", kSince1, run_float<Floor>),
    row("Ceil", kSince1, run_float<Ceil>),
    row("Round", kSince11, run_float<Round>),
    row("Sin", kSince7, run_float<Sin>),
    row("Cos", kSince7, run_float<Cos>),
    row("Tan", kSince7, run_float<Tan>),
    row("Asin", kSince7, run_float<Asin>),
    row("Acos", kSince7, run_float<Acos>),
    row("Atan", kSince7, run_float<Atan>),
    row("Sinh", kSince9Trigonometric, run_float<Sinh>),
    row("Cosh", kSince9Trigonometric, run_float<Cosh>),
    row("Asinh", kSince9Trigonometric, run_float<Asinh>),
    row("Acosh", kSince9Trigonometric, run_float<Acosh>),
    row("Atanh", kSince9Trigonometric, run_float<Atanh>),
    row("Erf", kSince9, run_erf),
    row("Tanh", kSince1, run_activation<Tanh, Activation::kTanh>),
    row("Sigmoid", kSince1, run_activation<Sigmoid, Activation::kSigmoid>),
    row("HardSwish", kSince14, run_activation<HardSwish, Activation::kHardSwish>),
    row("Softplus", kSinceOne, run_float<Softplus>),
    row("Softsign", kSinceOne, run_float<Softsign>),
    row("Mish", kSince18, run_float<Mish>),
    row("Relu", kSinceRelu, run_activation<Relu, Activation::kRelu>, kFloatTypes | kSignedTypes),
    row("LeakyRelu", kSinceLeaky, run_activation<LeakyRelu, Activation::kLeakyRelu>),
    row("ThresholdedRelu", kSince10, run_float<ThresholdedRelu>),
    row("Elu", kSinceActivation, run_float<Elu>),
    row("Celu", kSince12, run_float<Celu>),
    row("Selu", kSinceActivation, run_float<Selu>),
    row("HardSigmoid", kSinceActivation, run_float<HardSigmoid>),
    row("Shrink", kSince9, run_shrink),
    gelu_row(),
};

}  // namespace

OpRows unary_ops() { return kRows; }

}  // namespace espalier::ops
