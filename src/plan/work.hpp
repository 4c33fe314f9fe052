// What a step executes: one of a few kinds of work, and what each kind keeps per concurrent run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <espalier/executor.hpp>
#include <espalier/graph.hpp>
#include <espalier/matmul.hpp>
#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "kernels/conv/conv.hpp"
#include "kernels/conv/planar_ops.hpp"
#include "ops/onednn/dense_primitive.hpp"
#include "ops/op.hpp"
#include "plan/layout.hpp"

namespace espalier::plan {

struct Buffer;
struct Step;

// What a step sees of a run.
struct Frame {
  std::span<std::byte* const> data;  // by buffer; null for kDynamic ones
  std::span<Tensor> dynamic;         // by buffer
  std::byte* scratch;
  Executor& executor;
};

// An operator of ops/ on buffers of one layout; `inputs` and `outputs` are views shaped for it, their addresses are set
// per run.
struct OpWork {
  Node node;  // a copy, changed where the layout asks for it
  const ops::OpDef* def = nullptr;
  std::vector<Tensor> inputs, outputs;
};
struct OpState {
  std::vector<Tensor> inputs, outputs;
};

// An operator whose result's shape depends on data: evaluated on whatever arrives.
struct DynamicWork {
  Node node;
  std::vector<Tensor> inputs, outputs;  // views; undefined for kDynamic buffers
};

// A dense product, pool or change of layout on oneDNN: reads x (and a residual, when separate), writes y.
struct DenseWork {
  ops::DensePrimitive primitive;
  bool separate_residual = false;
};

// A block-sparse convolution: reads x and, when fused, a residual; writes y and, when asked for, its phases.
struct PlanarConvWork {
  conv::PlannedConv conv;
  bool residual = false, phases = false;
  int most_tasks = 1;  // what the scratch was sized for
};

// What happens to planar tensors besides convolutions: reads one buffer (kAdd: two), writes one.
struct PlanarWork {
  enum class Kind : std::uint8_t {
    kFromPlain,
    kFromChannelsLast,
    kToPlain,
    kToChannelsLast,
    kNarrow,  // planes of f32 to planes of bf16
    kWiden,
    kSplit,  // planar to phases, or to its even rows and columns
    kMaxPool,
    kAveragePool,
    kGlobalAverage,  // to plain N x C
    kAdd,            // clamp(a + b)
    kConcat          // channels; reads any number of buffers
  };
  Kind kind = Kind::kFromPlain;
  std::optional<conv::PlanarOps> ops = {};
  std::shared_ptr<const conv::PlanarLayout> in, out;  // null where that side is not planar
  conv::PoolShape pool;
  float low = 0, high = 0;                                       // kAdd
  std::vector<std::shared_ptr<const conv::PlanarLayout>> parts;  // kConcat: of each operand
};

// A sparse product over tokens: reads x and, when fused, a residual; writes y.
struct ProductWork {
  MatmulPlan plan;
  std::int64_t tokens = 0, in = 0, out = 0;
  bool residual = false;
};

struct CopyWork {
  std::size_t bytes = 0;
};

using Work = std::variant<CopyWork, OpWork, DynamicWork, DenseWork, PlanarConvWork, PlanarWork, ProductWork>;
using WorkState = std::variant<std::monostate, OpState, ops::DenseBinding>;

WorkState make_state(const Work& work);
Status run_work(const Step& step, WorkState& state, const Frame& frame);

}  // namespace espalier::plan
