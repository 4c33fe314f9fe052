// What a Plan is inside: the optimised graph, one choice per product, and the Programs made from them.
//
// Immutable after make_plan or load_plan, except for the caches of Programs and packed weights, which are guarded.
#pragma once

#include <cstdint>
#include <espalier/matmul.hpp>
#include <espalier/plan.hpp>
#include <espalier/sparse.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/conv/conv.hpp"
#include "ops/onednn/dense_primitive.hpp"
#include "plan/program.hpp"

namespace espalier::plan {

struct PlanSettings {
  int threads = 1;  // all that a run may use
  // Slices of a batch that run at once, each on threads / teams of its own: as many as threads, or 1. Cores that work
  // on images of their own pass nothing to each other.
  int teams = 1;
  Isa isa = Isa::kScalar;
  DType dtype = DType::kF32;  // kBf16: weights are rounded to it, and multiplied in it where a kernel does
  WeightUse weights = WeightUse::kSparse;
  Packing packing = Packing::kNative;
  ArenaUse arena = ArenaUse::kCompact;

  int team_threads() const { return threads / teams; }
};

// Whether kernels with vdpbf16ps may run on this machine when `isa` is the highest level.
bool offers_bf16_vectors(Isa isa);

// How one product (Conv, Gemm, MatMul) runs.
struct ProductChoice {
  enum class Family : std::uint8_t {
    kOperator,  // the operator of ops/, as every node that is no product
    kDense,     // oneDNN
    kPlanar,    // a block-sparse convolution in the planar layout
    kProduct    // a sparse product (matmul.hpp)
  };
  Family family = Family::kOperator;
  DType dtype = DType::kF32;     // what is multiplied: f32, or bf16 summed in f32
  conv::ConvChoice planar = {};  // kPlanar: kernel, split and loop order
  std::string product = {};      // kProduct: the kernel
};

// Packed weights by node, shared by the Programs of all shapes. Thread-safe.
class WeightStore {
 public:
  std::shared_ptr<const ops::DensePrimitive> dense(int node) const;
  void keep_dense(int node, const ops::DensePrimitive& primitive);
  // By node and by the rows of a group. Absent: undefined values.
  conv::PackedConv planar(int node, int rows) const;
  void keep_planar(int node, int rows, const conv::PackedConv& packed);
  std::optional<MatmulPlan> product(int node) const;
  void keep_product(int node, const MatmulPlan& plan);
  // Of the weights that these choices use.
  std::size_t bytes(const std::vector<ProductChoice>& choices) const;
  // Forgets what they do not use: the packings of trials.
  void keep_only(const std::vector<ProductChoice>& choices);

 private:
  mutable std::mutex mutex_;
  std::map<int, std::shared_ptr<const ops::DensePrimitive>> dense_;
  std::map<std::pair<int, int>, conv::PackedConv> planar_;
  std::map<int, MatmulPlan> products_;
};

// Whether a constant's bytes are kept nowhere but in packed weights.
inline bool is_released(const Tensor& constant) { return constant.raw() == nullptr && constant.bytes() != 0; }

class PlanState {
 public:
  Graph graph;  // optimised; shapes as the model declares them
  PlanSettings settings;
  std::vector<ProductChoice> choices;  // by node
  std::vector<Recognized> patterns;    // of each product's weights, by node
  std::int64_t slice = 0;              // larger batches run in slices of so many images (batch_slices.hpp); 0: never
  std::vector<TensorInfo> inputs, outputs;
  PlanReport report;

  // The Program for these input shapes (in the order of `inputs`) and this many threads (0: a team's): made at most
  // once, then remembered. Thread-safe. Errors: kInvalidData naming the node whose inputs do not fit.
  Result<std::shared_ptr<const Program>> program_for(const std::vector<Shape>& shapes, int threads = 0) const;
  // Made anew and not remembered, with other choices: for trials.
  Result<Program> make_program(const std::vector<Shape>& shapes, const std::vector<ProductChoice>& choices,
                               int threads = 0) const;

  WeightStore& weights() const { return *weights_; }
  // Uses the packed weights of another state, whose nodes and choices are the same.
  void share_weights(const PlanState& other) { weights_ = other.weights_; }

  // Lets go of the bytes of constants whose packed weights alone will be read again, unless the packing is much the
  // larger of the two. Their types and shapes stay.
  void release_packed_constants();
  // The graph with those constants unpacked again.
  Graph whole_graph() const;

 private:
  std::shared_ptr<WeightStore> weights_ = std::make_shared<WeightStore>();
  mutable std::mutex mutex_;
  mutable std::map<std::pair<int, std::vector<Shape>>, std::shared_ptr<const Program>> programs_;
};

}  // namespace espalier::plan
