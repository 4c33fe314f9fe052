// BatchNormalization (inference), InstanceNormalization, GroupNormalization, LayerNormalization, LpNormalization and
// MeanVarianceNormalization.
#include <cmath>

#include "ops/rows.hpp"
#include "ops/rule.hpp"
#include "ops/vector/row_loops.hpp"
#include "ops/walk.hpp"

namespace espalier::ops {
namespace {

// n x channels x plane.
struct Planes {
  std::int64_t n, channels, plane;
};
Planes planes_of(const Tensor& x) {
  const Dims size(x.shape());
  return {size[0], size.size() > 1 ? size[1] : 1, size.product(2, size.size())};
}

Status expect_per_channel(const InferContext& context, std::size_t first, const Dim& channels) {
  for (std::size_t i = first; i < context.inputs.size(); ++i) {
    ESPALIER_TRY(expect_rank(context, i, "per channel", 1));
    const SymbolicShape& shape = context.input(i).shape;
    if (shape.ranked && shape.dims[0].known() && channels.known() && shape.dims[0].size != channels.size)
      return fail_at(context.node, "input {} has {} values for {} channels", i, shape.dims[0].size, channels.size);
  }
  return {};
}

Status infer_batch(InferContext& context) {
  ESPALIER_TRY(expect_rank(context, 0, "X", 1, kMaxRank));
  const SymbolicShape& x = context.input(0).shape;
  if (x.ranked)
    ESPALIER_TRY(expect_per_channel(context, 1, x.dims.size() > 1 ? x.dims[1] : Dim{.size = 1, .symbol = {}}));
  return infer_like_input(context);
}

std::string supports_batch(const Node& node) {
  if (node.int_or("training_mode", 0) != 0) return "training_mode 1 is not supported";
  if (node.int_or("spatial", 1) == 0) return "spatial 0 is not supported";
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] != kNoValue) return "the outputs of training are not supported";
  return {};
}

// y = factor x + term, per channel.
template <typename T>
void run_batch(const RunContext& context) {
  const Tensor& x = context.input(0);
  const Planes planes = planes_of(x);
  const T epsilon = static_cast<T>(context.node.float_or("epsilon", 1e-5F));
  const Tensor parameters[] = {context.input(1).cast(x.dtype()), context.input(2).cast(x.dtype()),
                               context.input(3).cast(x.dtype()), context.input(4).cast(x.dtype())};
  const T* scale = parameters[0].values<T>().data();
  const T* bias = parameters[1].values<T>().data();
  const T* mean = parameters[2].values<T>().data();
  const T* variance = parameters[3].values<T>().data();
  const T* from = x.values<T>().data();
  T* to = context.outputs[0].values<T>().data();
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, planes.plane));
  parallel_ranges(context.executor, planes.n * planes.channels, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t c = i % planes.channels;
      const T factor = scale[c] / std::sqrt(variance[c] + epsilon);
      const T term = bias[c] - mean[c] * factor;
      const std::int64_t begin = i * planes.plane, end = begin + planes.plane;
      for (std::int64_t j = begin; j < end; ++j) to[j] = factor * from[j] + term;
    }
  });
}

struct Moments {
  double mean, inverse_deviation;
};
template <typename T>
Moments moments_of(const T* x, std::int64_t count, double epsilon) {
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]);
  const double mean = sum / static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    const double distance = static_cast<double>(x[i]) - mean;
    squares += distance * distance;
  }
  return {mean, 1 / std::sqrt(squares / static_cast<double>(count) + epsilon)};
}

Status infer_instance(InferContext& context) {
  ESPALIER_TRY(expect_rank(context, 0, "X", 3, kMaxRank));
  if (context.input(0).shape.ranked) ESPALIER_TRY(expect_per_channel(context, 1, context.input(0).shape.dims[1]));
  return infer_like_input(context);
}

template <typename T>
void run_instance(const RunContext& context) {
  const Tensor& x = context.input(0);
  const Planes planes = planes_of(x);
  const double epsilon = static_cast<double>(context.node.float_or("epsilon", 1e-5F));
  const T* scale = context.input(1).values<T>().data();
  const T* bias = context.input(2).values<T>().data();
  const T* from = x.values<T>().data();
  T* to = context.outputs[0].values<T>().data();
  for (std::int64_t i = 0; i < planes.n * planes.channels; ++i) {
    const std::int64_t begin = i * planes.plane;
    const Moments moments = moments_of(from + begin, planes.plane, epsilon);
    const T factor = scale[i % planes.channels] * static_cast<T>(moments.inverse_deviation);
    const T term = bias[i % planes.channels] - static_cast<T>(moments.mean) * factor;
    for (std::int64_t j = begin; j < begin + planes.plane; ++j) to[j] = factor * from[j] + term;
  }
}

Status infer_group(InferContext& context) {
  ESPALIER_TRY(expect_rank(context, 0, "X", 3, kMaxRank));
  const std::int64_t groups = context.node.int_or("num_groups", 0);
  if (groups < 1) return fail_at(context.node, "num_groups is {}, expected at least 1", groups);
  if (context.input(0).shape.ranked) {
    const Dim& channels = context.input(0).shape.dims[1];
    if (channels.known() && channels.size % groups != 0)
      return fail_at(context.node, "{} channels do not divide into {} groups", channels.size, groups);
    const bool per_group = context.node.version < 21;
    ESPALIER_TRY(expect_per_channel(context, 1, per_group ? Dim{.size = groups, .symbol = {}} : channels));
  }
  return infer_like_input(context);
}

template <typename T>
void run_group(const RunContext& context) {
  const Tensor& x = context.input(0);
  const Planes planes = planes_of(x);
  const std::int64_t groups = context.node.int_or("num_groups", 1), per_group = planes.channels / groups;
  const bool by_group = context.node.version < 21;
  const double epsilon = static_cast<double>(context.node.float_or("epsilon", 1e-5F));
  const T* scale = context.input(1).values<T>().data();
  const T* bias = context.input(2).values<T>().data();
  const T* from = x.values<T>().data();
  T* to = context.outputs[0].values<T>().data();
  for (std::int64_t i = 0; i < planes.n * groups; ++i) {
    const std::int64_t begin = i * per_group * planes.plane;
    const Moments moments = moments_of(from + begin, per_group * planes.plane, epsilon);
    for (std::int64_t c = 0; c < per_group; ++c) {
      const std::int64_t parameter = by_group ? i % groups : i % groups * per_group + c;
      const T factor = scale[parameter] * static_cast<T>(moments.inverse_deviation);
      const T term = bias[parameter] - static_cast<T>(moments.mean) * factor;
      const std::int64_t first = begin + c * planes.plane;
      for (std::int64_t j = first; j < first + planes.plane; ++j) to[j] = factor * from[j] + term;
    }
  }
}

Status infer_layer(InferContext& context) {
  const ValueFacts& x = context.input(0);
  ESPALIER_TRY(expect_rank(context, 0, "X", 1, kMaxRank));
  SymbolicShape statistics = x.shape;
  if (x.shape.ranked) {
    const auto rank = static_cast<int>(x.shape.dims.size());
    ESPALIER_ASSIGN(const int axis, resolve_axis(context.node, context.node.int_or("axis", -1), rank));
    const Dims size = sizes_of(x.shape);
    Dims normalised(size.span().subspan(static_cast<std::size_t>(axis)));
    for (std::size_t i = 1; i <= 2; ++i) {
      const auto given = static_shape(context.input(i).shape);
      if (context.has(i) && given && known(normalised) && element_count(*given) != normalised.product())
        return fail_at(context.node, "input {} has shape {}, expected {} (the normalised axes)", i, to_string(*given),
                       to_string(normalised.span()));
    }
    for (int i = axis; i < rank; ++i) statistics.dims[static_cast<std::size_t>(i)] = Dim{.size = 1, .symbol = {}};
  }
  context.set(1, DType::kF32, statistics);
  context.set(2, DType::kF32, statistics);
  return infer_like_input(context);
}

template <typename T>
void run_layer(const RunContext& context, int axis) {
  const Tensor& x = context.input(0);
  const Dims size(x.shape());
  const std::int64_t rows = size.product(0, axis), length = size.product(axis, size.size());
  const double epsilon = static_cast<double>(context.node.float_or("epsilon", 1e-5F));
  const T* scale = context.input(1).values<T>().data();
  const T* bias = context.has(2) ? context.input(2).values<T>().data() : nullptr;
  const T* from = x.values<T>().data();
  T* to = context.outputs[0].values<T>().data();
  float* means = context.wants(1) ? context.outputs[1].values<float>().data() : nullptr;
  float* inverses = context.wants(2) ? context.outputs[2].values<float>().data() : nullptr;
  parallel_ranges(context.executor, rows, std::max<std::int64_t>(1, kGrain / 4 / std::max<std::int64_t>(1, length)),
                  [&](std::int64_t first, std::int64_t last) {
                    for (std::int64_t row = first; row < last; ++row) {
                      const T* source = from + row * length;
                      T* target = to + row * length;
                      const Moments moments = moments_of(source, length, epsilon);
                      const T mean = static_cast<T>(moments.mean), inverse = static_cast<T>(moments.inverse_deviation);
                      for (std::int64_t i = 0; i < length; ++i)
                        target[i] = (source[i] - mean) * inverse * scale[i] + (bias != nullptr ? bias[i] : T(0));
                      if (means != nullptr) means[row] = static_cast<float>(moments.mean);
                      if (inverses != nullptr) inverses[row] = static_cast<float>(moments.inverse_deviation);
                    }
                  });
}

void run_layer_fast(const RunContext& context, int axis, const RowLoops& loops) {
  const Dims size(context.input(0).shape());
  const std::int64_t rows = size.product(0, axis), length = size.product(axis, size.size());
  const float* from = context.input(0).values<float>().data();
  float* to = context.outputs[0].values<float>().data();
  NormaliseArgs shared{.scale = context.input(1).values<float>().data(),
                       .bias = context.has(2) ? context.input(2).values<float>().data() : nullptr,
                       .count = length,
                       .epsilon = context.node.float_or("epsilon", 1e-5F)};
  float* means = context.wants(1) ? context.outputs[1].values<float>().data() : nullptr;
  float* inverses = context.wants(2) ? context.outputs[2].values<float>().data() : nullptr;
  parallel_ranges(context.executor, rows, std::max<std::int64_t>(1, kGrain / 2 / length),
                  [&](std::int64_t first, std::int64_t last) {
                    NormaliseArgs args = shared;
                    for (std::int64_t row = first; row < last; ++row) {
                      args.x = from + row * length;
                      args.y = to + row * length;
                      loops.normalise(args);
                      if (means != nullptr) means[row] = args.mean;
                      if (inverses != nullptr) inverses[row] = args.inverse_deviation;
                    }
                  });
}

Status run_layer_norm(const RunContext& context) {
  const Tensor& x = context.input(0);
  ESPALIER_ASSIGN(const int axis, resolve_axis(context.node, context.node.int_or("axis", -1), x.rank()));
  if (x.count() == 0) return {};
  if (x.dtype() == DType::kF64)
    run_layer<double>(context, axis);
  else if (const RowLoops* loops = row_loops(); loops != nullptr)
    run_layer_fast(context, axis, *loops);
  else
    run_layer<float>(context, axis);
  return {};
}

// x / |x| along one axis, with the norm 1 or 2.
Status infer_lp(InferContext& context) {
  const SymbolicShape& x = context.input(0).shape;
  const std::int64_t p = context.node.int_or("p", 2);
  if (p != 1 && p != 2) return fail_at(context.node, "p is {}, expected 1 or 2", p);
  if (x.ranked)
    ESPALIER_TRY(resolve_axis(context.node, context.node.int_or("axis", -1), static_cast<int>(x.dims.size())));
  return infer_like_input(context);
}

template <typename T>
void run_lp(const RunContext& context) {
  const Tensor& x = context.input(0);
  const Dims size(x.shape());
  const auto axis = resolve_axis(context.node, context.node.int_or("axis", -1), x.rank());
  if (!axis) return;
  const bool squares = context.node.int_or("p", 2) == 2;
  const std::int64_t inner = size.product(*axis + 1, size.size()), length = size[*axis];
  const T* from = x.values<T>().data();
  T* to = context.outputs[0].values<T>().data();
  for (std::int64_t i = 0; i < size.product(0, *axis) * inner; ++i) {
    const std::int64_t start = i / inner * length * inner + i % inner;
    T sum = 0;
    for (std::int64_t j = 0; j < length; ++j) {
      const T value = from[start + j * inner];
      sum += squares ? value * value : std::abs(value);
    }
    const T norm = squares ? std::sqrt(sum) : sum;
    for (std::int64_t j = 0; j < length; ++j)
      to[start + j * inner] = norm == T(0) ? T(0) : from[start + j * inner] / norm;
  }
}

Result<AxisSet> variance_axes(const Node& node, int rank) {
  static constexpr std::int64_t kDefault[] = {0, 2, 3};
  const auto given = ints(node, "axes");
  return resolve_axes(node, given.empty() ? std::span(kDefault) : given, rank);
}

Status infer_mean_variance(InferContext& context) {
  const SymbolicShape& x = context.input(0).shape;
  if (x.ranked) ESPALIER_TRY(variance_axes(context.node, static_cast<int>(x.dims.size())));
  return infer_like_input(context);
}

template <typename T>
void run_mean_variance(const RunContext& context) {
  const Tensor& x = context.input(0);
  const Dims size(x.shape()), strides = row_major(size);
  const auto axes = variance_axes(context.node, x.rank());
  if (!axes || x.count() == 0) return;
  Walk<1> kept, reduced;
  for (int i = 0; i < size.size(); ++i) {
    Walk<1>& part = in(*axes, i) ? reduced : kept;
    part.size.push_back(size[i]);
    part.stride[0].push_back(strides[i]);
  }
  for (Walk<1>* walk : {&kept, &reduced}) {
    walk->size.push_back(1);
    walk->stride[0].push_back(0);
  }
  const T* from = x.values<T>().data();
  T* to = context.outputs[0].values<T>().data();
  const auto count = static_cast<double>(reduced.rows());
  kept.for_rows(0, kept.rows(), [&](const auto& start, std::int64_t) {
    double sum = 0, squares = 0;
    reduced.for_rows(0, reduced.rows(), [&](const auto& at, std::int64_t) {
      const auto value = static_cast<double>(from[start[0] + at[0]]);
      sum += value;
      squares += value * value;
    });
    const double mean = sum / count;
    const double deviation = std::sqrt(std::max(0.0, squares / count - mean * mean)) + 1e-9;
    reduced.for_rows(0, reduced.rows(), [&](const auto& at, std::int64_t) {
      const std::int64_t i = start[0] + at[0];
      to[i] = static_cast<T>((static_cast<double>(from[i]) - mean) / deviation);
    });
  });
}

template <void (*kFloat)(const RunContext&), void (*kDouble)(const RunContext&)>
Status run(const RunContext& context) {
  if (context.input(0).dtype() == DType::kF64)
    kDouble(context);
  else
    kFloat(context);
  return {};
}

constexpr int kSinceBatch[] = {7, 9, 14, 15};
constexpr int kSinceInstance[] = {6, 22};
constexpr int kSinceGroup[] = {18, 21};
constexpr int kSinceLayer[] = {17};
constexpr int kSinceLp[] = {1, 22};
constexpr int kSinceMeanVariance[] = {9, 13};

const OpDef kRows[] = {
    {.op = "BatchNormalization",
     .since = kSinceBatch,
     .min_inputs = 5,
     .max_inputs = 5,
     .outputs = 5,
     .types = kFloatTypes,
     .signature = "TF",
     .infer = infer_batch,
     .run = run<run_batch<float>, run_batch<double>>,
     .supports = supports_batch,
     .in_place = true,
     .widen = true},
    {.op = "InstanceNormalization",
     .since = kSinceInstance,
     .min_inputs = 3,
     .max_inputs = 3,
     .types = kFloatTypes,
     .infer = infer_instance,
     .run = run<run_instance<float>, run_instance<double>>,
     .widen = true},
    {.op = "GroupNormalization",
     .since = kSinceGroup,
     .min_inputs = 3,
     .max_inputs = 3,
     .types = kFloatTypes,
     .infer = infer_group,
     .run = run<run_group<float>, run_group<double>>,
     .widen = true},
    {.op = "LayerNormalization",
     .since = kSinceLayer,
     .min_inputs = 2,
     .max_inputs = 3,
     .outputs = 3,
     .types = kFloatTypes,
     .infer = infer_layer,
     .run = run_layer_norm,
     .widen = true},
    {.op = "LpNormalization",
     .since = kSinceLp,
     .types = kFloatTypes,
     .infer = infer_lp,
     .run = run<run_lp<float>, run_lp<double>>,
     .widen = true},
    {.op = "MeanVarianceNormalization",
     .since = kSinceMeanVariance,
     .types = kFloatTypes,
     .infer = infer_mean_variance,
     .run = run<run_mean_variance<float>, run_mean_variance<double>>,
     .widen = true},
};

}  // namespace

OpRows normalization_ops() { return kRows; }

}  // namespace espalier::ops
