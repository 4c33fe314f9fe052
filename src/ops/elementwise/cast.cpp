// Cast and CastLike. Floats become integers by truncation; values outside the integer's range saturate, NaN becomes 0.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dispatch.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"
#include "ops/walk.hpp"

namespace espalier::ops {
namespace {

// ONNX's TensorProto.DataType.
std::optional<DType> dtype_of_onnx(std::int64_t type) {
  switch (type) {
    case 1:
      return DType::kF32;
    case 2:
      return DType::kU8;
    case 3:
      return DType::kI8;
    case 4:
      return DType::kU16;
    case 5:
      return DType::kI16;
    case 6:
      return DType::kI32;
    case 7:
      return DType::kI64;
    case 9:
      return DType::kBool;
    case 10:
      return DType::kF16;
    case 11:
      return DType::kF64;
    case 12:
      return DType::kU32;
    case 13:
      return DType::kU64;
    case 16:
      return DType::kBf16;
    default:
      return std::nullopt;
  }
}

template <typename T>
constexpr bool kHalf = std::is_same_v<T, bf16> || std::is_same_v<T, f16>;

template <typename To, typename From>
To convert(From value) {
  if constexpr (kHalf<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (kHalf<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    if (std::isnan(value)) return 0;
    // The limits as doubles: for 64 bits the upper one is the next power of two, which no cast may reach.
    if (static_cast<double>(value) <= static_cast<double>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    if (static_cast<double>(value) >= static_cast<double>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

Status run_cast(const RunContext& context) {
  const Tensor& data = context.input(0);
  Tensor& out = context.outputs[0];
  dispatch(data.dtype(), [&](auto from) {
    dispatch(out.dtype(), [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      const From* x = data.values<From>().data();
      To* y = out.values<To>().data();
      parallel_ranges(context.executor, out.count(), kGrain, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) y[i] = convert<To>(x[i]);
      });
    });
  });
  return {};
}

Status infer_cast(InferContext& context) {
  const std::int64_t to = context.node.int_or("to", 0);
  const auto dtype = dtype_of_onnx(to);
  if (!dtype) return fail_at(context.node, "attribute to is {}, not a type that is supported", to);
  context.set(0, dtype, context.input(0).shape);
  return {};
}

std::string supports_cast(const Node& node) {
  const std::int64_t to = node.int_or("to", 0);
  return dtype_of_onnx(to) ? std::string() : fmt::format("attribute to is {} (a type that is not supported)", to);
}

Status infer_cast_like(InferContext& context) {
  context.set(0, context.input(1).dtype, context.input(0).shape);
  return {};
}

constexpr int kSinceCast[] = {6, 9, 13, 19, 21};
constexpr int kSinceCastLike[] = {15, 19, 21};

const OpDef kRows[] = {
    {.op = "Cast", .since = kSinceCast, .infer = infer_cast, .run = run_cast, .supports = supports_cast},
    {.op = "CastLike",
     .since = kSinceCastLike,
     .min_inputs = 2,
     .max_inputs = 2,
     .signature = "*",
     .infer = infer_cast_like,
     .run = run_cast},
};

}  // namespace

OpRows cast_ops() { return kRows; }

}  // namespace espalier::ops
