// The layers of a shape file (bench/shapes): convolutions in network order with the buffers they read and write.
#pragma once

#include <espalier/sparse.hpp>
#include <espalier/status.hpp>
#include <string>
#include <vector>

#include "kernels/conv/conv.hpp"

namespace espalier::bench {

struct Layer {
  std::string name;
  conv::ConvShape shape;
  std::string reads, writes;

  // Layers of one shape share their tuning and are reported together.
  std::string shape_name() const;
};

Result<std::vector<Layer>> read_layers(const std::string& path, std::int64_t batch);

// Seeded weights [m, k, kh, kw], scaled so that activations keep their size, pruned by a mask with equal numbers of
// kept blocks in every block row. `mask` is full at density 1 and for layers with fewer than 16 input channels.
struct LayerWeights {
  Tensor values, bias;
  Mask mask;
  bool dense = false;
};
LayerWeights make_weights(const Layer& layer, Block block, double density, std::uint32_t seed);

}  // namespace espalier::bench
