// DepthToSpace, SpaceToDepth, Trilu and OneHot.
#include <cstring>

#include "base/dispatch.hpp"
#include "ops/movement/copy.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"

namespace espalier::ops {
namespace {

Result<std::int64_t> block_size(const Node& node) {
  const std::int64_t block = node.int_or("blocksize", 0);
  if (block < 1 || block > (std::int64_t{1} << 20))
    return fail_at(node, "attribute blocksize is {}, expected at least 1", block);
  return block;
}

// `down` divides a size by `by`, which must divide it; up multiplies.
Result<Dim> scaled(const Node& node, const Dim& dim, std::int64_t by, bool down) {
  if (!dim.known()) return Dim{};
  if (down && dim.size % by != 0) return fail_at(node, "size {} does not divide by {}", dim.size, by);
  std::int64_t size = dim.size / by;
  if (!down && __builtin_mul_overflow(dim.size, by, &size))
    return make_error(ErrorCode::kLimit, describe(node) + ": the output's size overflows");
  return Dim{.size = size, .symbol = {}};
}

Status infer_depth_to_space(InferContext& context) {
  ESPALIER_TRY(expect_rank(context, 0, "input", 4));
  ESPALIER_ASSIGN(const std::int64_t block, block_size(context.node));
  const bool to_space = context.node.op == "DepthToSpace";
  SymbolicShape shape = context.input(0).shape;
  if (shape.ranked) {
    ESPALIER_ASSIGN(shape.dims[1], scaled(context.node, shape.dims[1], block * block, to_space));
    ESPALIER_ASSIGN(shape.dims[2], scaled(context.node, shape.dims[2], block, !to_space));
    ESPALIER_ASSIGN(shape.dims[3], scaled(context.node, shape.dims[3], block, !to_space));
  }
  context.set(0, context.input(0).dtype, std::move(shape));
  return {};
}

std::string supports_depth_to_space(const Node& node) {
  const std::string_view mode = text(node, "mode", "DCR");
  if (mode == "DCR" || mode == "CRD") return {};
  return fmt::format("attribute mode is '{}', supported are DCR and CRD", mode);
}

// Both are one transposition: the deep tensor is n x (block, block, c) or n x (c, block, block) x h x w, the wide one
// n x c x (h, block) x (w, block).
Status run_depth_to_space(const RunContext& context) {
  const bool to_space = context.node.op == "DepthToSpace";
  const Tensor& deep = to_space ? context.input(0) : context.outputs[0];
  const Tensor& wide = to_space ? context.outputs[0] : context.input(0);
  const std::int64_t block = context.node.int_or("blocksize", 1);
  const bool depth_first = text(context.node, "mode", "DCR") == "DCR";
  const std::int64_t c = wide.dim(1), h = deep.dim(2), w = deep.dim(3), plane = h * w;
  // Indexed n, c, h, block row, w, block column.
  const Dims size{deep.dim(0), c, h, block, w, block};
  const Dims in_wide{c * plane * block * block, plane * block * block, block * w * block, w * block, block, 1};
  const Dims in_deep = depth_first ? Dims{c * plane * block * block, plane, w, block * c * plane, 1, c * plane}
                                   : Dims{c * plane * block * block, block * block * plane, w, block * plane, 1, plane};
  const Walk<2> walk{size, {to_space ? in_wide : in_deep, to_space ? in_deep : in_wide}};
  copy_strided(context.executor, size_of(deep.dtype()), walk, context.outputs[0].raw(), context.input(0).raw());
  return {};
}

Status infer_trilu(InferContext& context) {
  ESPALIER_TRY(expect_rank(context, 0, "input", 2, kMaxRank));
  const Tensor& k = context.input(1).constant;
  if (k.defined() && k.count() != 1)
    return fail_at(context.node, "k has shape {}, expected a scalar", to_string(k.shape()));
  return infer_like_input(context);
}

Status run_trilu(const RunContext& context) {
  const Tensor& x = context.input(0);
  Tensor& out = context.outputs[0];
  copy_whole(x, out);
  if (out.count() == 0) return {};
  const bool upper = context.node.int_or("upper", 1) != 0;
  const std::int64_t rows = x.dim(x.rank() - 2), columns = x.dim(x.rank() - 1);
  const std::int64_t given = context.has(1) ? context.input(1).values<std::int64_t>()[0] : 0;
  const std::int64_t k = std::clamp(given, -rows - 1, columns + 1);
  const std::size_t bytes = size_of(x.dtype());
  auto* y = static_cast<std::byte*>(out.raw());
  for (std::int64_t i = 0; i < out.count() / columns; ++i) {
    const std::int64_t diagonal = i % rows + k;
    const std::int64_t first = upper ? 0 : std::clamp<std::int64_t>(diagonal + 1, 0, columns);
    const std::int64_t last = upper ? std::clamp<std::int64_t>(diagonal, 0, columns) : columns;
    std::memset(y + static_cast<std::size_t>(i * columns + first) * bytes, 0,
                static_cast<std::size_t>(std::max<std::int64_t>(0, last - first)) * bytes);
  }
  return {};
}

Status infer_one_hot(InferContext& context) {
  const SymbolicShape& indices = context.input(0).shape;
  const Tensor& depth = context.input(1).constant;
  const auto values = static_shape(context.input(2).shape);
  if (values && element_count(*values) != 2)
    return fail_at(context.node, "values have shape {}, expected 2 values (off, on)", to_string(*values));
  context.set(0, context.input(2).dtype, {});
  if (!indices.ranked) return {};
  const auto rank = static_cast<int>(indices.dims.size()) + 1;
  if (rank > kMaxRank) return fail_at(context.node, "the output would have rank {}", rank);
  ESPALIER_ASSIGN(const int axis, resolve_axis(context.node, context.node.int_or("axis", -1), rank));
  Dim size;
  if (depth.defined()) {
    if (depth.count() != 1)
      return fail_at(context.node, "depth has shape {}, expected a scalar", to_string(depth.shape()));
    size.size = depth.cast(DType::kI64).values<std::int64_t>()[0];
    if (size.size < 0) return fail_at(context.node, "depth is {}", size.size);
  }
  SymbolicShape shape = indices;
  shape.dims.insert(shape.dims.begin() + axis, size);
  context.set(0, context.input(2).dtype, std::move(shape));
  return {};
}

Status run_one_hot(const RunContext& context) {
  Tensor& out = context.outputs[0];
  const Tensor indices = context.input(0).cast(DType::kI64);
  ESPALIER_ASSIGN(const int axis, resolve_axis(context.node, context.node.int_or("axis", -1), out.rank()));
  const Dims size(out.shape());
  const std::int64_t depth = size[axis], inner = size.product(axis + 1, size.size());
  dispatch_bytes(size_of(out.dtype()), [&](auto zero) {
    using T = decltype(zero);
    const auto* values = static_cast<const T*>(context.input(2).raw());
    auto* y = static_cast<T*>(out.raw());
    std::fill(y, y + out.count(), values[0]);
    const auto list = indices.values<std::int64_t>();
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(list.size()); ++i) {
      const std::int64_t index = list[static_cast<std::size_t>(i)];
      if (index < -depth || index >= depth) continue;  // stays "off"
      y[(i / inner * depth + (index < 0 ? index + depth : index)) * inner + i % inner] = values[1];
    }
  });
  return {};
}

constexpr int kSinceDepth[] = {1, 11, 13};
constexpr int kSinceTrilu[] = {14};
constexpr int kSinceOneHot[] = {9, 11};

const OpDef kRows[] = {
    {.op = "DepthToSpace",
     .since = kSinceDepth,
     .infer = infer_depth_to_space,
     .run = run_depth_to_space,
     .supports = supports_depth_to_space},
    {.op = "SpaceToDepth", .since = kSinceDepth, .infer = infer_depth_to_space, .run = run_depth_to_space},
    {.op = "Trilu", .since = kSinceTrilu, .max_inputs = 2, .signature = "TL", .infer = infer_trilu, .run = run_trilu},
    {.op = "OneHot",
     .since = kSinceOneHot,
     .min_inputs = 3,
     .max_inputs = 3,
     .signature = "*",
     .infer = infer_one_hot,
     .run = run_one_hot},
};

}  // namespace

OpRows rearrange_ops() { return kRows; }

}  // namespace espalier::ops
