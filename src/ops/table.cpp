// The table of operators.
#include <algorithm>

#include "ops/rows.hpp"

namespace espalier::ops {
namespace {

constexpr OpRows (*kFiles[])() = {
    arg_ops,         binary_ops,       cast_ops,           concat_ops,  conv_ops,      gather_ops,        gemm_ops,
    global_pool_ops, integer_conv_ops, integer_matmul_ops, lrn_ops,     matmul_ops,    normalization_ops, pad_ops,
    pool_ops,        quantize_ops,     rearrange_ops,      reduce_ops,  reshape_ops,   resize_ops,        scatter_ops,
    select_ops,      shape_ops,        slice_ops,          softmax_ops, transpose_ops, unary_ops,
};

std::string_view canonical(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

bool before(const OpDef* a, const OpDef* b) { return a->op != b->op ? a->op < b->op : a->domain < b->domain; }

}  // namespace

std::span<const OpDef* const> op_table() {
  static const std::vector<const OpDef*> table = [] {
    std::vector<const OpDef*> rows;
    for (const auto file : kFiles)
      for (const OpDef& row : file()) rows.push_back(&row);
    std::sort(rows.begin(), rows.end(), before);
    return rows;
  }();
  return table;
}

const OpDef* find_op(std::string_view op, std::string_view domain) {
  OpDef key;
  key.op = op;
  key.domain = canonical(domain);
  const auto table = op_table();
  const auto found = std::lower_bound(table.begin(), table.end(), &key, before);
  return found != table.end() && !before(&key, *found) ? *found : nullptr;
}

std::optional<int> op_version(const OpDef& def, int opset) {
  std::optional<int> version;
  for (const int since : def.since)
    if (since <= opset) version = since;
  return version;
}

}  // namespace espalier::ops
