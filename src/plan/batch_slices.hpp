// Large batches run slice by slice, so that the activations of a slice stay in the cores' caches: a network whose
// activations fit L2 for eight images runs 64 images as eight slices.
#pragma once

#include <cstdint>
#include <espalier/graph.hpp>
#include <vector>

#include "plan/plan_state.hpp"

namespace espalier::plan {

// Whether every value's first dimension is the batch and no operator mixes images, judged from the operators and from
// shapes inferred for a batch of two.
bool is_batch_separable(const Graph& graph);

// Images per slice, for activations of `image_bytes` per image; 0: not worth slicing.
std::int64_t slice_size(std::size_t image_bytes, int threads);

// How a batch is divided: `count` slices that differ by one image at most.
struct Slices {
  std::int64_t batch = 1, count = 1;

  std::int64_t begin(std::int64_t slice) const { return batch * slice / count; }
  std::int64_t size(std::int64_t slice) const { return begin(slice + 1) - begin(slice); }
  std::int64_t largest() const { return (batch + count - 1) / count; }
};
// Slices of at most `slice` images (0: one slice), as many for each of `teams`.
Slices slices_of(std::int64_t batch, std::int64_t slice, int teams);
Slices slices_of(const std::vector<Shape>& shapes, std::int64_t slice, int teams);
// The shapes of `count` images of these inputs.
std::vector<Shape> with_batch(std::vector<Shape> shapes, std::int64_t count);

}  // namespace espalier::plan
