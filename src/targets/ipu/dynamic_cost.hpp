// What a dynamic plan costs: the planner's published estimate, phase by phase.
//
// The grid cuts W into x parts of its rows and y parts of its columns, and n into z parts; a tile has one cell (x, y)
// and one part of n. The non-zeros of a cell are spread over the buckets of its z tiles, which are broadcast among
// them. What does not fit travels on in the propagation phase, which the published plan counts as free.
#pragma once

#include <espalier/ipu.hpp>
#include <vector>

namespace espalier::ipu {

enum class Passes : std::uint8_t {
  kForward,              // Y = W X alone
  kForwardAndTransposed  // and X' = W^T Y', with the same buckets; what the published product always plans for
};

struct DynamicOptions {
  Passes passes = Passes::kForwardAndTransposed;
  double oversize = 0.3;           // of a bucket over its even share
  bool half_partials = false;      // f32 sums otherwise
  bool gradient = false;           // buckets also hold work lists for the gradient of W
  bool count_propagation = false;  // expected steps of the propagation phase in the objective; free as published
};

struct Grid {
  std::int64_t x = 1, y = 1, z = 1;
  std::int64_t tiles() const { return x * y * z; }
};

// Sizes that follow from the problem alone. A grain is a block row, a block column, or what vectors take of n.
struct DynamicShape {
  std::int64_t block = 1;            // that the vertices run: f32 knows at most 8, f16 at most 16
  std::int64_t x = 0, y = 0, z = 0;  // grains
  std::int64_t grain_z = 1;          // columns of n
  std::int64_t size = 2;             // bytes of a value
  std::int64_t max_blocks = 0;       // capacity of the whole product
  double density = 0;
};
DynamicShape dynamic_shape(const Problem& problem);

// Of one bucket, equal for all tiles.
struct BucketCapacity {
  std::int64_t blocks = 0, words = 0;
  std::int64_t bytes(const DynamicShape& shape) const {
    return blocks * shape.block * shape.block * shape.size + 2 * words;
  }
};
BucketCapacity bucket_capacity(const DynamicShape& shape, const Grid& grid, const DynamicOptions& options);

// Steps of the propagation phase to expect of a uniformly random pattern.
double expected_propagation(const DynamicShape& shape, const Grid& grid, const BucketCapacity& bucket);

struct PassCost {
  std::int64_t transpose = 0, x_exchange = 0, bucket_exchange = 0, zero = 0, compute = 0, partial_exchange = 0,
               reduce = 0;
  std::int64_t propagation = 0;

  std::int64_t raw() const {
    return transpose + x_exchange + bucket_exchange + zero + compute + partial_exchange + reduce + propagation;
  }
};

struct DynamicCost {
  Grid grid;
  BucketCapacity bucket;
  PassCost forward, transposed;  // transposed is zero when it is not planned for
  std::int64_t tile_bytes = 0;

  std::int64_t objective() const { return forward.raw() + transposed.raw(); }
};

class DynamicCoster {
 public:
  DynamicCoster(const Machine& machine, const Problem& problem, const DynamicOptions& options);

  const DynamicShape& shape() const { return shape_; }
  // False where an index would exceed its 16 bits. Memory is not judged.
  bool evaluate(const Grid& grid, DynamicCost& cost) const;

 private:
  PassCost price(const DynamicCost& cost, bool transposed) const;

  const Machine& machine_;
  Problem problem_;
  DynamicOptions options_;
  DynamicShape shape_;
};

// The calibrated phases of the forward pass.
std::vector<Phase> calibrated_phases(const DynamicCost& cost, std::int64_t block);
double calibrated_cycles(const DynamicCost& cost, std::int64_t block);

}  // namespace espalier::ipu
