// Element-wise operators with broadcasting: arithmetic, comparison and logic on two inputs; Sum, Mean, Min and Max on
// any number.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/dispatch.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"
#include "ops/walk.hpp"

namespace espalier::ops {
namespace {

// Integers wrap: arithmetic is done on unsigned values.
template <typename T>
constexpr bool kWraps = std::is_integral_v<T> && !std::is_same_v<T, bool>;

struct Add {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (kWraps<T>)
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else
      return a + b;
  }
};
struct Sub {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (kWraps<T>)
      return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
    else
      return a - b;
  }
};
struct Mul {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (kWraps<T>)
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else
      return a * b;
  }
};
// The divisor of an integer is not 0: checked before.
struct Div {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>)
      return b == T(-1) ? Sub::apply(T(0), a) : static_cast<T>(a / b);
    else
      return static_cast<T>(a / b);
  }
};
// fmod 0: the sign of the divisor.
struct Mod {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      const T rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    } else if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return 0;
      const T rest = static_cast<T>(a % b);
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    } else {
      return static_cast<T>(a % b);
    }
  }
};
// fmod 1: the sign of the dividend.
struct Fmod {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return std::fmod(a, b);
    else if constexpr (std::is_signed_v<T>)
      return b == T(-1) ? T(0) : static_cast<T>(a % b);
    else
      return static_cast<T>(a % b);
  }
};
// A NaN wins, as in numpy.
struct Min {
  template <typename T>
  static T apply(T a, T b) {
    return a < b || a != a ? a : b;
  }
};
struct Max {
  template <typename T>
  static T apply(T a, T b) {
    return a > b || a != a ? a : b;
  }
};
struct PRelu {
  template <typename T>
  static T apply(T x, T slope) {
    return x < T(0) ? Mul::apply(x, slope) : x;
  }
};
struct BitAnd {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

struct Equal {
  template <typename T>
  static bool apply(T a, T b) {
    return a == b;
  }
};
struct Less {
  template <typename T>
  static bool apply(T a, T b) {
    return a < b;
  }
};
struct LessOrEqual {
  template <typename T>
  static bool apply(T a, T b) {
    return a <= b;
  }
};
struct Greater {
  template <typename T>
  static bool apply(T a, T b) {
    return a > b;
  }
};
struct GreaterOrEqual {
  template <typename T>
  static bool apply(T a, T b) {
    return a >= b;
  }
};
struct And {
  static bool apply(bool a, bool b) { return a && b; }
};
struct Or {
  static bool apply(bool a, bool b) { return a || b; }
};
struct Xor {
  static bool apply(bool a, bool b) { return a != b; }
};

Walk<2> walk_of(const Tensor& a, const Tensor& b, const Tensor& out) {
  const Dims size(out.shape());
  Walk<2> walk{size, {broadcast_strides(Dims(a.shape()), size), broadcast_strides(Dims(b.shape()), size)}};
  return walk;
}

// The output is contiguous: its offset is found by walking it as a third operand.
template <typename F, typename T, typename Out>
void combine(const Tensor& a, const Tensor& b, Tensor& out, Executor& executor) {
  const Walk<2> pair = walk_of(a, b, out);
  Walk<3> walk{pair.size, {pair.stride[0], pair.stride[1], row_major(pair.size)}};
  walk.merge();
  const T* x = a.values<T>().data();
  const T* y = b.values<T>().data();
  Out* z = out.values<Out>().data();
  const std::int64_t step_x = walk.stride[0].back(), step_y = walk.stride[1].back();
  walk.for_pieces(executor, [&](const std::array<std::int64_t, 3>& offset, std::int64_t count) {
    const T* px = x + offset[0];
    const T* py = y + offset[1];
    Out* pz = z + offset[2];
    if (step_x == 1 && step_y == 1) {
      for (std::int64_t i = 0; i < count; ++i) pz[i] = F::apply(px[i], py[i]);
    } else if (step_x == 1 && step_y == 0) {
      const T value = *py;
      for (std::int64_t i = 0; i < count; ++i) pz[i] = F::apply(px[i], value);
    } else {
      for (std::int64_t i = 0; i < count; ++i) pz[i] = F::apply(px[i * step_x], py[i * step_y]);
    }
  });
}

template <typename T>
bool has_zero(const Tensor& tensor) {
  const auto values = tensor.values<T>();
  return std::find(values.begin(), values.end(), T(0)) != values.end();
}

template <typename F>
constexpr bool kDivides = std::is_same_v<F, Div> || std::is_same_v<F, Mod> || std::is_same_v<F, Fmod>;
template <typename F>
constexpr bool kBitwise = std::is_same_v<F, BitAnd> || std::is_same_v<F, BitOr> || std::is_same_v<F, BitXor>;

template <typename F>
Status arithmetic(const Node& node, const Tensor& a, const Tensor& b, Tensor& out, Executor& executor) {
  return dispatch(a.dtype(), [&](auto zero) -> Status {
    using T = decltype(zero);
    if constexpr (kWraps<T> || (std::is_floating_point_v<T> && !kBitwise<F>)) {
      if constexpr (kDivides<F> && std::is_integral_v<T>)
        if (has_zero<T>(b)) return fail_at(node, "division of {} by zero", to_string(a.dtype()));
      combine<F, T, T>(a, b, out, executor);
    }
    return {};
  });
}

template <typename F>
Status run_arithmetic(const RunContext& context) {
  return arithmetic<F>(context.node, context.input(0), context.input(1), context.outputs[0], context.executor);
}

Status run_mod(const RunContext& context) {
  return context.node.int_or("fmod", 0) != 0 ? run_arithmetic<Fmod>(context) : run_arithmetic<Mod>(context);
}

template <typename F>
Status run_comparison(const RunContext& context) {
  dispatch(context.input(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>)
      combine<F, T, bool>(context.input(0), context.input(1), context.outputs[0], context.executor);
  });
  return {};
}

template <typename F>
Status run_logic(const RunContext& context) {
  combine<F, bool, bool>(context.input(0), context.input(1), context.outputs[0], context.executor);
  return {};
}

template <typename F>
Status run_variadic(const RunContext& context) {
  Tensor& out = context.outputs[0];
  // The first step also broadcasts a single input.
  if (context.inputs.size() == 1) {
    if (out.bytes() != 0) std::memcpy(out.raw(), context.input(0).raw(), out.bytes());
    return {};
  }
  ESPALIER_TRY(arithmetic<F>(context.node, context.input(0), context.input(1), out, context.executor));
  for (std::size_t i = 2; i < context.inputs.size(); ++i)
    ESPALIER_TRY(arithmetic<F>(context.node, out, context.input(i), out, context.executor));
  return {};
}

Status run_mean(const RunContext& context) {
  ESPALIER_TRY(run_variadic<Add>(context));
  const auto count = static_cast<double>(context.inputs.size());
  if (context.outputs[0].dtype() == DType::kF64)
    for (double& value : context.outputs[0].values<double>()) value /= count;
  else
    for (float& value : context.outputs[0].values<float>()) value /= static_cast<float>(count);
  return {};
}

Status infer_broadcast(InferContext& context) {
  ESPALIER_ASSIGN(SymbolicShape shape, broadcast_inputs(context));
  context.set(0, context.input(0).dtype, std::move(shape));
  return {};
}

Status infer_comparison(InferContext& context) {
  ESPALIER_ASSIGN(SymbolicShape shape, broadcast_inputs(context));
  context.set(0, DType::kBool, std::move(shape));
  return {};
}

Status infer_prelu(InferContext& context) {
  ESPALIER_ASSIGN(SymbolicShape shape, broadcast_inputs(context));
  const SymbolicShape& x = context.input(0).shape;
  if (shape.ranked && x.ranked && shape.dims.size() > x.dims.size())
    return fail_at(context.node, "slope of shape {} does not broadcast to the input's shape {}",
                   to_string(context.input(1).shape), to_string(x));
  context.set(0, context.input(0).dtype, x.ranked ? x : shape);
  return {};
}

constexpr int kSinceArithmetic[] = {7, 13, 14};
constexpr int kSinceCompare[] = {7, 9, 13};
constexpr int kSinceEqual[] = {7, 11, 13, 19};
constexpr int kSinceOrEqual[] = {12, 16};
constexpr int kSinceLogic[] = {7};
constexpr int kSinceMod[] = {10, 13};
constexpr int kSinceVariadic[] = {6, 8, 13};
constexpr int kSinceMinMax[] = {6, 8, 12, 13};
constexpr int kSincePRelu[] = {7, 9, 16};
constexpr int kSinceBits[] = {18};

constexpr OpDef row(std::string_view op, std::span<const int> since, RunFn run, TypeSet allowed = kNumberTypes) {
  return {.op = op,
          .since = since,
          .min_inputs = 2,
          .max_inputs = 2,
          .types = allowed,
          .infer = infer_broadcast,
          .run = run,
          .in_place = true,
          .widen = true};
}
constexpr OpDef comparison(std::string_view op, std::span<const int> since, RunFn run, TypeSet allowed) {
  OpDef def = row(op, since, run, allowed);
  def.infer = infer_comparison;
  def.in_place = false;
  return def;
}
constexpr OpDef variadic(std::string_view op, std::span<const int> since, RunFn run, TypeSet allowed) {
  OpDef def = row(op, since, run, allowed);
  def.min_inputs = 1;
  def.max_inputs = -1;
  def.in_place = false;
  return def;
}
constexpr OpDef prelu() {
  OpDef def = row("PRelu", kSincePRelu, run_arithmetic<PRelu>);
  def.infer = infer_prelu;
  return def;
}

const OpDef kRows[] = {
    row("Add", kSinceArithmetic, run_arithmetic<Add>),
    row("Sub", kSinceArithmetic, run_arithmetic<Sub>),
    row("Mul", kSinceArithmetic, run_arithmetic<Mul>),
    row("Div", kSinceArithmetic, run_arithmetic<Div>),
    row("Mod", kSinceMod, run_mod),
    row("BitwiseAnd", kSinceBits, run_arithmetic<BitAnd>, kIntegerTypes),
    row("BitwiseOr", kSinceBits, run_arithmetic<BitOr>, kIntegerTypes),
    row("BitwiseXor", kSinceBits, run_arithmetic<BitXor>, kIntegerTypes),
    prelu(),
    comparison("Equal", kSinceEqual, run_comparison<Equal>, kAnyType),
    comparison("Less", kSinceCompare, run_comparison<Less>, kNumberTypes),
    comparison("LessOrEqual", kSinceOrEqual, run_comparison<LessOrEqual>, kNumberTypes),
    comparison("Greater", kSinceCompare, run_comparison<Greater>, kNumberTypes),
    comparison("GreaterOrEqual", kSinceOrEqual, run_comparison<GreaterOrEqual>, kNumberTypes),
    comparison("And", kSinceLogic, run_logic<And>, kBoolType),
    comparison("Or", kSinceLogic, run_logic<Or>, kBoolType),
    comparison("Xor", kSinceLogic, run_logic<Xor>, kBoolType),
    variadic("Sum", kSinceVariadic, run_variadic<Add>, kFloatTypes),
    variadic("Mean", kSinceVariadic, run_mean, kFloatTypes),
    variadic("Min", kSinceMinMax, run_variadic<Min>, kNumberTypes),
    variadic("Max", kSinceMinMax, run_variadic<Max>, kNumberTypes),
};

}  // namespace

OpRows binary_ops() { return kRows; }

}  // namespace espalier::ops
