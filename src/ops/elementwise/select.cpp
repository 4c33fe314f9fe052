// Element-wise operators of other forms: Where, Clip, Pow, IsNaN, IsInf.
#include <cmath>
#include <cstring>
#include <limits>

#include "base/dispatch.hpp"
#include "ops/elementwise/functions.hpp"
#include "ops/movement/copy.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"
#include "ops/walk.hpp"

namespace espalier::ops {
namespace {

Status infer_where(InferContext& context) {
  ESPALIER_ASSIGN(SymbolicShape shape, broadcast_inputs(context));
  context.set(0, context.input(1).dtype ? context.input(1).dtype : context.input(2).dtype, std::move(shape));
  return {};
}

Status run_where(const RunContext& context) {
  Tensor& out = context.outputs[0];
  const Dims size(out.shape());
  const auto strides = [&](std::size_t i) { return broadcast_strides(Dims(context.input(i).shape()), size); };
  Walk<4> walk{size, {strides(0), strides(1), strides(2), row_major(size)}};
  walk.merge();
  const bool* condition = context.input(0).values<bool>().data();
  dispatch_bytes(size_of(out.dtype()), [&](auto zero) {
    using T = decltype(zero);
    const auto* yes = static_cast<const T*>(context.input(1).raw());
    const auto* no = static_cast<const T*>(context.input(2).raw());
    auto* target = static_cast<T*>(out.raw());
    const std::int64_t step[] = {walk.stride[0].back(), walk.stride[1].back(), walk.stride[2].back()};
    walk.for_pieces(context.executor, [&](const std::array<std::int64_t, 4>& at, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i)
        target[at[3] + i] = condition[at[0] + i * step[0]] ? yes[at[1] + i * step[1]] : no[at[2] + i * step[2]];
    });
  });
  return {};
}

Status check_bound(const Node& node, const Tensor& bound, std::string_view name) {
  if (bound.defined() && bound.count() != 1)
    return fail_at(node, "{} has shape {}, expected a scalar", name, to_string(bound.shape()));
  return {};
}

Status run_clip(const RunContext& context) {
  const Node& node = context.node;
  const bool by_input = node.version >= 11;
  if (by_input) {
    ESPALIER_TRY(check_bound(node, context.input(1), "min"));
    ESPALIER_TRY(check_bound(node, context.input(2), "max"));
  }
  dispatch(context.input(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      T low = std::numeric_limits<T>::lowest(), high = std::numeric_limits<T>::max();
      if constexpr (std::is_floating_point_v<T>) {
        low = -std::numeric_limits<T>::infinity();
        high = std::numeric_limits<T>::infinity();
        if (!by_input) {
          low = static_cast<T>(node.float_or("min", static_cast<float>(low)));
          high = static_cast<T>(node.float_or("max", static_cast<float>(high)));
        }
      }
      if (by_input && context.has(1)) low = context.input(1).values<T>()[0];
      if (by_input && context.has(2)) high = context.input(2).values<T>()[0];
      const T* x = context.input(0).values<T>().data();
      T* y = context.outputs[0].values<T>().data();
      parallel_ranges(context.executor, context.outputs[0].count(), kGrain, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) y[i] = clip(x[i], low, high);
      });
    }
  });
  return {};
}

// Integer bases with integer exponents stay exact (and wrap); a negative exponent gives 0 except for 1 and -1.
template <typename T, typename E>
T power(T base, E exponent) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<E>) {
    if constexpr (std::is_signed_v<E>) {
      if (exponent < 0) {
        if (base == T(1)) return 1;
        if constexpr (std::is_signed_v<T>)
          if (base == T(-1)) return exponent % 2 == 0 ? T(1) : T(-1);
        return 0;
      }
    }
    std::uint64_t result = 1, factor = static_cast<std::uint64_t>(base);
    for (auto rest = static_cast<std::uint64_t>(exponent); rest != 0; rest >>= 1U) {
      if ((rest & 1U) != 0) result *= factor;
      factor *= factor;
    }
    return static_cast<T>(result);
  } else if constexpr (std::is_integral_v<T>) {
    const double value = std::pow(static_cast<double>(base), static_cast<double>(exponent));
    if (!(value > static_cast<double>(std::numeric_limits<T>::min()))) return std::numeric_limits<T>::min();
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<T, float> && std::is_same_v<E, float>) {
    if (exponent == 2) return base * base;
    return exponent == 0.5F ? std::sqrt(base) : std::pow(base, exponent);
  } else {
    return static_cast<T>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
}

template <typename T, typename E>
void raise(const RunContext& context) {
  Tensor& out = context.outputs[0];
  const Dims size(out.shape());
  Walk<3> walk{size,
               {broadcast_strides(Dims(context.input(0).shape()), size),
                broadcast_strides(Dims(context.input(1).shape()), size), row_major(size)}};
  walk.merge();
  const T* base = context.input(0).values<T>().data();
  const E* exponent = context.input(1).values<E>().data();
  T* target = out.values<T>().data();
  const std::int64_t step_base = walk.stride[0].back(), step_exponent = walk.stride[1].back();
  walk.for_pieces(context.executor, [&](const std::array<std::int64_t, 3>& at, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      target[at[2] + i] = power(base[at[0] + i * step_base], exponent[at[1] + i * step_exponent]);
  });
}

Status run_pow(const RunContext& context) {
  dispatch(context.input(0).dtype(), [&](auto base) {
    dispatch(context.input(1).dtype(), [&](auto exponent) {
      using T = decltype(base);
      using E = decltype(exponent);
      if constexpr (std::is_arithmetic_v<T> && std::is_arithmetic_v<E> && !std::is_same_v<T, bool> &&
                    !std::is_same_v<E, bool>)
        raise<T, E>(context);
    });
  });
  return {};
}

Status infer_pow(InferContext& context) {
  ESPALIER_ASSIGN(SymbolicShape shape, broadcast_inputs(context));
  const auto exponent = context.input(1).dtype;
  if (exponent && !contains(kNumberTypes, *exponent))
    return fail_at(context.node, "input 1 has type {}, expected a number", to_string(*exponent));
  if (context.node.version < 12 && exponent && context.input(0).dtype && *exponent != *context.input(0).dtype)
    return fail_at(context.node, "input 1 has type {}, expected {} as input 0", to_string(*exponent),
                   to_string(*context.input(0).dtype));
  context.set(0, context.input(0).dtype, std::move(shape));
  return {};
}

Status infer_test(InferContext& context) {
  context.set(0, DType::kBool, context.input(0).shape);
  return {};
}

template <typename F>
Status test(const RunContext& context, F&& f) {
  const auto out = context.outputs[0].values<bool>();
  const auto apply = [&](auto values) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = f(static_cast<double>(values[i]));
  };
  if (context.input(0).dtype() == DType::kF64)
    apply(context.input(0).values<double>());
  else
    apply(context.input(0).values<float>());
  return {};
}

Status run_is_nan(const RunContext& context) {
  return test(context, [](double x) { return std::isnan(x); });
}

Status run_is_inf(const RunContext& context) {
  const bool positive = context.node.int_or("detect_positive", 1) != 0;
  const bool negative = context.node.int_or("detect_negative", 1) != 0;
  return test(context, [=](double x) { return std::isinf(x) && (x > 0 ? positive : negative); });
}

constexpr int kSinceWhere[] = {9, 16};
constexpr int kSinceClip[] = {6, 11, 12, 13};
constexpr int kSincePow[] = {7, 12, 13, 15};
constexpr int kSinceIsNan[] = {9, 13, 20};
constexpr int kSinceIsInf[] = {10, 20};

const OpDef kRows[] = {
    {.op = "Where",
     .since = kSinceWhere,
     .min_inputs = 3,
     .max_inputs = 3,
     .signature = "BT",
     .infer = infer_where,
     .run = run_where},
    {.op = "Clip",
     .since = kSinceClip,
     .max_inputs = 3,
     .types = kNumberTypes,
     .infer = infer_like_input,
     .run = run_clip,
     .in_place = true,
     .widen = true},
    {.op = "Pow",
     .since = kSincePow,
     .min_inputs = 2,
     .max_inputs = 2,
     .types = kNumberTypes,
     .signature = "T*",
     .infer = infer_pow,
     .run = run_pow,
     .widen = true},
    {.op = "IsNaN", .since = kSinceIsNan, .types = kFloatTypes, .infer = infer_test, .run = run_is_nan, .widen = true},
    {.op = "IsInf", .since = kSinceIsInf, .types = kFloatTypes, .infer = infer_test, .run = run_is_inf, .widen = true},
};

}  // namespace

OpRows select_ops() { return kRows; }

}  // namespace espalier::ops
