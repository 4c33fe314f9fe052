// The two chains that race: planar block-sparse convolutions, and dense ones on oneDNN (channels last, prepacked
// weights). Each layer has its own weights, reads what the one before it wrote, and is timed by itself.
#pragma once

#include <espalier/executor.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conv/layers.hpp"
#include "kernels/conv/planar_ops.hpp"
#include "kernels/conv/testing/planar_buffer.hpp"
#include "ops/onednn/dense_primitive.hpp"

namespace espalier::bench {

using Times = std::vector<double>;  // ms per layer

struct ChainOptions {
  Block block{8, 8};
  double density = 0.5;
  DType dtype = DType::kF32;  // of both chains: activations and weights, sums in f32
  int threads = 1;
  Isa isa = Isa::kScalar;
  std::int64_t images_per_plane = 0;
};

class PlanarChain {
 public:
  static Result<PlanarChain> make(const std::vector<Layer>& layers, const ChainOptions& options, Executor& executor);

  // Every candidate of every shape against sampled outputs of the reference; the worst error. Fails when one is wrong.
  Result<double> verify();
  // Times all candidates inside the chain for about `seconds` and keeps the best of each shape.
  // With `trace`, prints the medians of all candidates of each shape.
  void tune(double seconds, bool trace);
  Times pass();
  std::string kernel(std::size_t layer) const { return stages_[layer].choice().name(); }
  double predicted_ms(std::size_t layer) const { return stages_[layer].candidates[stages_[layer].chosen].predicted_ms; }

 private:
  struct Stage {
    Layer layer;
    LayerWeights weights;
    conv::ConvLayouts layouts;
    std::vector<conv::ConvCandidate> candidates;
    std::vector<conv::PlannedConv> planned;  // one per candidate
    std::size_t chosen = 0;
    // Stride 2: where the input is split to; else the layer reads `source` itself.
    std::shared_ptr<conv::PlanarBuffer> phases, source, target;
    const conv::ConvChoice& choice() const { return candidates[chosen].choice; }
  };
  void run(const Stage& stage, std::size_t candidate) const;

  std::vector<Stage> stages_;
  ChainOptions options_;
  Executor* executor_ = nullptr;
  std::shared_ptr<conv::AlignedBytes> scratch_;
};

class DenseChain {
 public:
  static Result<DenseChain> make(const std::vector<Layer>& layers, const ChainOptions& options);
  Times pass();
  std::string kernel(std::size_t layer) const { return stages_[layer].primitive.kernel(); }

 private:
  struct Stage {
    ops::DensePrimitive primitive;
    ops::DenseBinding binding;
    void* source;
    void* target;
  };
  std::vector<Stage> stages_;
  std::map<std::string, Tensor> buffers_;
  Tensor scratch_;
  int threads_ = 1;
};

}  // namespace espalier::bench
