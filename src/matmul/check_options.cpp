// What a plan refuses: types, lengths and quantization that do not fit.
#include <algorithm>
#include <cmath>

#include "base/fail.hpp"
#include "matmul/plan.hpp"

namespace espalier {
namespace {

bool is_byte(DType type) { return type == DType::kI8 || type == DType::kU8; }

Status check_float_types(const MatmulOptions& options, DType weights) {
  if (weights == DType::kI8)
    return fail(ErrorCode::kInvalidArgument,
                "matmul: the weights are i8 but x is {}, expected i8 or u8: quantise x first", to_string(options.x));
  if (!is_float(weights))
    return fail(ErrorCode::kUnsupported, "matmul: the weights are {}, expected f32, f64, bf16 or f16",
                to_string(weights));
  for (const auto& [name, type] : {std::pair{"x", options.x}, std::pair{"y", options.y}})
    if (!is_float(type))
      return fail(ErrorCode::kUnsupported, "matmul: {} is {}, expected f32, f64, bf16 or f16", name, to_string(type));
  if ((options.x == DType::kF64) != (options.y == DType::kF64))
    return fail(ErrorCode::kUnsupported, "matmul: x is {} and y is {}, expected both f64 or neither",
                to_string(options.x), to_string(options.y));
  if (options.x == DType::kBf16 && weights != DType::kBf16)
    return fail(ErrorCode::kInvalidArgument,
                "matmul: x is bf16 but the weights are {}, expected bf16: convert the weights first",
                to_string(weights));
  return {};
}

Status check_zero(std::string_view name, std::int32_t zero, DType type) {
  const std::int32_t least = type == DType::kI8 ? -128 : 0;
  if (zero < least || zero > least + 255)
    return fail(ErrorCode::kInvalidArgument, "matmul: {} is {}, expected {} to {} as {} holds", name, zero, least,
                least + 255, to_string(type));
  return {};
}

Status check_quantization(const Quantization& q, std::int64_t m, const MatmulOptions& options) {
  const auto scales = static_cast<std::int64_t>(q.w_scale.size());
  if (scales > 1 && scales != m)
    return fail(ErrorCode::kInvalidArgument,
                "matmul: w_scale holds {} values, expected one per row, {}, or one for all", scales, m);
  for (const auto& [name, scale] : {std::pair{"x_scale", q.x_scale}, std::pair{"y_scale", q.y_scale}})
    if (!(scale > 0) || !std::isfinite(scale))
      return fail(ErrorCode::kInvalidArgument, "matmul: {} is {}, expected more than 0 and finite", name, scale);
  ESPALIER_TRY(check_zero("x_zero", q.x_zero, options.x));
  return is_byte(options.y) ? check_zero("y_zero", q.y_zero, options.y) : Status();
}

Status check_integer_types(const MatmulOptions& options, std::int64_t m, DType weights) {
  if (weights != DType::kI8)
    return fail(ErrorCode::kInvalidArgument, "matmul: x is {} but the weights are {}, expected i8",
                to_string(options.x), to_string(weights));
  const DType y = options.y;
  if (!is_byte(y) && y != DType::kF32 && y != DType::kBf16 && y != DType::kI32)
    return fail(ErrorCode::kUnsupported, "matmul: y is {}, expected f32, bf16, i8, u8 or i32 with {} x", to_string(y),
                to_string(options.x));
  const bool plain = options.bias.empty() && options.activation == Activation::kNone && options.alpha == 1 &&
                     options.quantization.w_scale.empty() && options.quantization.x_scale == 1;
  if (y == DType::kI32 && !plain)
    return fail(ErrorCode::kInvalidArgument,
                "matmul: y is i32, the sum itself: it takes no scales, bias, alpha or activation");
  return check_quantization(options.quantization, m, options);
}

}  // namespace

Status check_options(const MatmulOptions& options, std::int64_t m, DType weights) {
  if (options.n < 0) return fail(ErrorCode::kInvalidArgument, "matmul: n is {}, expected 0 or more", options.n);
  if (options.threads < 0)
    return fail(ErrorCode::kInvalidArgument, "matmul: threads is {}, expected 0 (all) or more", options.threads);
  const std::size_t biases = std::max(options.bias.size(), options.bias_f64.size());
  if (biases != 0 && static_cast<std::int64_t>(biases) != m)
    return fail(ErrorCode::kInvalidArgument, "matmul: bias holds {} values, expected one per output row, {}", biases,
                m);
  const bool f64 = options.x == DType::kF64;
  if (!(f64 ? options.bias.empty() : options.bias_f64.empty()))
    return fail(ErrorCode::kInvalidArgument, "matmul: x is {}, expected its bias as {}", to_string(options.x),
                f64 ? "bias_f64" : "bias");
  return is_byte(options.x) ? check_integer_types(options, m, weights) : check_float_types(options, weights);
}

}  // namespace espalier
