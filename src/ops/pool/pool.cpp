// MaxPool, AveragePool and LpPool, 1-d to 3-d. In f32 and f64 (16-bit floats through f32); MaxPool also in i8 and u8.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dispatch.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"
#include "ops/walk.hpp"
#include "ops/window.hpp"

namespace espalier::ops {
namespace {

Result<Window> pool_window(const Node& node, const Dims& size) {
  const auto kernel = ints(node, "kernel_shape");
  if (kernel.empty()) return fail_at(node, "attribute kernel_shape is missing");
  if (kernel.size() > static_cast<std::size_t>(kMaxRank))
    return fail_at(node, "kernel_shape has {} sizes", kernel.size());
  for (const std::int64_t k : kernel)
    if (k < 1) return fail_at(node, "kernel_shape has the value {}, expected at least 1", k);
  return window_of(node, Dims(size.span().subspan(2)), Dims(kernel));
}

Status infer(InferContext& context) {
  ESPALIER_TRY(expect_rank(context, 0, "X", 3, 5));
  const SymbolicShape& x = context.input(0).shape;
  SymbolicShape shape;
  if (x.ranked) {
    ESPALIER_ASSIGN(const Window window, pool_window(context.node, sizes_of(x)));
    shape = shape_of(window.out);
    shape.dims.insert(shape.dims.begin(), {x.dims[0], x.dims[1]});
  }
  context.set(1, DType::kI64, shape);
  context.set(0, context.input(0).dtype, std::move(shape));
  return {};
}

// The taps [first, last) of one window position that lie inside the input.
struct Taps {
  std::int64_t origin, first, last;
};
Taps taps_inside(const Window& g, int i, std::int64_t out) {
  const std::int64_t origin = out * g.stride[i] - g.begin[i];
  const std::int64_t first = origin >= 0 ? 0 : (-origin + g.dilation[i] - 1) / g.dilation[i];
  const std::int64_t room = g.in[i] - origin;
  const std::int64_t last = room <= 0 ? 0 : (room + g.dilation[i] - 1) / g.dilation[i];
  return {origin, std::min(first, g.kernel[i]), std::min(last, g.kernel[i])};
}

// fn(output position, taps along d, h, w) over one plane.
template <typename F>
void for_windows(const Window& g, F&& fn) {
  std::int64_t position = 0;
  for (std::int64_t od = 0; od < g.out[0]; ++od) {
    const Taps d = taps_inside(g, 0, od);
    for (std::int64_t oh = 0; oh < g.out[1]; ++oh) {
      const Taps h = taps_inside(g, 1, oh);
      for (std::int64_t ow = 0; ow < g.out[2]; ++ow) fn(position++, d, h, taps_inside(g, 2, ow));
    }
  }
}

// fn(offset in the plane) over the taps of one window.
template <typename F>
void for_taps(const Window& g, const Taps& d, const Taps& h, const Taps& w, F&& fn) {
  for (std::int64_t kd = d.first; kd < d.last; ++kd)
    for (std::int64_t kh = h.first; kh < h.last; ++kh) {
      const std::int64_t row = ((d.origin + kd * g.dilation[0]) * g.in[1] + h.origin + kh * g.dilation[1]) * g.in[2];
      for (std::int64_t kw = w.first; kw < w.last; ++kw) fn(row + w.origin + kw * g.dilation[2]);
    }
}

// fn(plane) over all planes of the input, in parallel.
template <typename F>
void for_planes(const RunContext& context, const Window& g, F&& fn) {
  const Tensor& x = context.input(0);
  const std::int64_t work = std::max<std::int64_t>(1, g.out.product() * g.kernel.product());
  parallel_ranges(context.executor, x.dim(0) * x.dim(1), std::max<std::int64_t>(1, kGrain / work),
                  [&](std::int64_t first, std::int64_t last) {
                    for (std::int64_t plane = first; plane < last; ++plane) fn(plane);
                  });
}

// An offset in a plane as the column-major one that storage_order 1 asks for.
std::int64_t column_major(const Window& g, std::int64_t offset) {
  const std::int64_t w = offset % g.in[2], h = offset / g.in[2] % g.in[1], d = offset / (g.in[2] * g.in[1]);
  return (w * g.in[1] + h) * g.in[0] + d;
}

template <typename T>
void max_pool_with_indices(const RunContext& context, const Window& g) {
  const T* x = context.input(0).values<T>().data();
  T* y = context.outputs[0].values<T>().data();
  std::int64_t* indices = context.outputs[1].values<std::int64_t>().data();
  const bool by_column = context.node.int_or("storage_order", 0) != 0;
  const std::int64_t in_plane = g.in.product(), out_plane = g.out.product();
  for_planes(context, g, [&](std::int64_t plane) {
    const T* from = x + plane * in_plane;
    for_windows(g, [&](std::int64_t position, const Taps& d, const Taps& h, const Taps& w) {
      T best = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
      std::int64_t at = -1;
      for_taps(g, d, h, w, [&](std::int64_t offset) {
        const T value = from[offset];
        if (value > best || value != value || at < 0) {
          best = value;
          at = offset;
        }
      });
      y[plane * out_plane + position] = best;
      indices[plane * out_plane + position] = at < 0 ? -1 : plane * in_plane + (by_column ? column_major(g, at) : at);
    });
  });
}

// y = f(y, x) over the taps of every window, row by row, so that the inner loop runs over outputs.
template <typename T, typename F>
void fold_windows(const Window& g, const T* x, T* y, F&& f) {
  for (std::int64_t kd = 0; kd < g.kernel[0]; ++kd)
    for (std::int64_t kh = 0; kh < g.kernel[1]; ++kh)
      for (std::int64_t kw = 0; kw < g.kernel[2]; ++kw) {
        const OutputRange d = outputs_reading(g, 0, kd), h = outputs_reading(g, 1, kh), w = outputs_reading(g, 2, kw);
        for (std::int64_t od = d.first; od < d.last; ++od)
          for (std::int64_t oh = h.first; oh < h.last; ++oh) {
            const std::int64_t row = (od * g.stride[0] + d.shift) * g.in[1] + oh * g.stride[1] + h.shift;
            const T* from = x + row * g.in[2] + w.shift;
            T* to = y + (od * g.out[1] + oh) * g.out[2];
            for (std::int64_t ow = w.first; ow < w.last; ++ow) to[ow] = f(to[ow], from[ow * g.stride[2]]);
          }
      }
}

template <typename T>
void max_pool(const RunContext& context, const Window& g) {
  const T* x = context.input(0).values<T>().data();
  T* y = context.outputs[0].values<T>().data();
  const std::int64_t in_plane = g.in.product(), out_plane = g.out.product();
  const T lowest = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  for_planes(context, g, [&](std::int64_t plane) {
    T* to = y + plane * out_plane;
    std::fill(to, to + out_plane, lowest);
    fold_windows(g, x + plane * in_plane, to,
                 [](T best, T value) { return value > best || value != value ? value : best; });
  });
}

// How many positions of one window count along an axis: padding only where it was asked for, and never what ceil_mode
// adds beyond it.
std::int64_t counted(const Window& g, int i, std::int64_t out, bool include_padding) {
  const Taps taps = taps_inside(g, i, out);
  if (!include_padding) return taps.last - taps.first;
  const std::int64_t room = g.in[i] + g.end[i] - taps.origin;
  return std::min(g.kernel[i], (room + g.dilation[i] - 1) / g.dilation[i]);
}

template <typename T>
void average_pool(const RunContext& context, const Window& g) {
  const T* x = context.input(0).values<T>().data();
  T* y = context.outputs[0].values<T>().data();
  const bool include = context.node.int_or("count_include_pad", 0) != 0;
  const std::int64_t in_plane = g.in.product(), out_plane = g.out.product();
  for_planes(context, g, [&](std::int64_t plane) {
    T* to = y + plane * out_plane;
    std::fill(to, to + out_plane, T(0));
    fold_windows(g, x + plane * in_plane, to, [](T sum, T value) { return sum + value; });
    for (std::int64_t od = 0; od < g.out[0]; ++od)
      for (std::int64_t oh = 0; oh < g.out[1]; ++oh) {
        const std::int64_t rows = counted(g, 0, od, include) * counted(g, 1, oh, include);
        for (std::int64_t ow = 0; ow < g.out[2]; ++ow, ++to) {
          const std::int64_t count = rows * counted(g, 2, ow, include);
          *to = count > 0 ? *to / static_cast<T>(count) : T(0);
        }
      }
  });
}

template <typename T>
void lp_pool(const RunContext& context, const Window& g) {
  const T* x = context.input(0).values<T>().data();
  T* y = context.outputs[0].values<T>().data();
  const T p = static_cast<T>(context.node.int_or("p", 2));
  const std::int64_t in_plane = g.in.product(), out_plane = g.out.product();
  for_planes(context, g, [&](std::int64_t plane) {
    T* to = y + plane * out_plane;
    std::fill(to, to + out_plane, T(0));
    fold_windows(g, x + plane * in_plane, to, [p](T sum, T value) { return sum + std::pow(std::abs(value), p); });
    for (std::int64_t i = 0; i < out_plane; ++i) to[i] = std::pow(to[i], 1 / p);
  });
}

Result<Window> run_window(const RunContext& context) {
  ESPALIER_ASSIGN(const Window window, pool_window(context.node, Dims(context.input(0).shape())));
  return as_3d(window);
}

Status run_max(const RunContext& context) {
  ESPALIER_ASSIGN(const Window g, run_window(context));
  dispatch(context.input(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T> || (std::is_integral_v<T> && sizeof(T) == 1 && !std::is_same_v<T, bool>))
      context.wants(1) ? max_pool_with_indices<T>(context, g) : max_pool<T>(context, g);
  });
  return {};
}

Status run_average(const RunContext& context) {
  ESPALIER_ASSIGN(const Window g, run_window(context));
  if (context.input(0).dtype() == DType::kF64)
    average_pool<double>(context, g);
  else
    average_pool<float>(context, g);
  return {};
}

Status infer_lp(InferContext& context) {
  const std::int64_t p = context.node.int_or("p", 2);
  if (p < 1) return fail_at(context.node, "attribute p is {}, expected at least 1", p);
  return infer(context);
}

Status run_lp(const RunContext& context) {
  ESPALIER_ASSIGN(const Window g, run_window(context));
  if (context.input(0).dtype() == DType::kF64)
    lp_pool<double>(context, g);
  else
    lp_pool<float>(context, g);
  return {};
}

constexpr int kSinceMax[] = {1, 8, 10, 11, 12, 22};
constexpr int kSinceAverage[] = {7, 10, 11, 19, 22};
constexpr int kSinceLp[] = {2, 11, 18, 22};

const OpDef kRows[] = {
    {.op = "MaxPool",
     .since = kSinceMax,
     .outputs = 2,
     .types = kFloatTypes | kByteTypes,
     .infer = infer,
     .run = run_max,
     .widen = true},
    {.op = "AveragePool",
     .since = kSinceAverage,
     .types = kFloatTypes,
     .infer = infer,
     .run = run_average,
     .widen = true},
    {.op = "LpPool", .since = kSinceLp, .types = kFloatTypes, .infer = infer_lp, .run = run_lp, .widen = true},
};

}  // namespace

OpRows pool_ops() { return kRows; }

}  // namespace espalier::ops
