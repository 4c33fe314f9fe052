#include "targets/ipu/dynamic_cost.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "targets/ipu/calibration.hpp"
#include "targets/ipu/rounding.hpp"
#include "targets/ipu/vertex_cycles.hpp"

namespace espalier::ipu {
namespace {

constexpr std::int64_t kBlockHeader = 7, kEntryHeader = 9, kEntryWorkerWords = 5;
constexpr std::int64_t kBucketCycles = 102;  // to look through one bucket
constexpr std::int64_t kGradientWords = 4;   // for each worker of a sub-group

double real(std::int64_t value) { return static_cast<double>(value); }
std::int64_t whole_up(double value) { return static_cast<std::int64_t>(std::ceil(value)); }

// The largest block of the vertices that divides `block`.
std::int64_t vertex_block(std::int64_t block, DType dtype) {
  for (const std::int64_t candidate : {16, 8, 4})
    if (block % candidate == 0 && (dtype == DType::kF16 || candidate <= 8)) return candidate;
  return 1;
}

// Expected non-empty rows of a cell and blocks in each of them.
struct CellCounts {
  std::int64_t rows = 0, per_row = 0;
};
CellCounts cell_counts(const DynamicShape& shape, std::int64_t x, std::int64_t y) {
  CellCounts counts;
  counts.rows = std::max<std::int64_t>(whole_up(real(x) * (1 - std::pow(1 - shape.density, real(y)))), 1);
  counts.per_row = divide_up(std::max<std::int64_t>(whole_up(real(x * y) * shape.density), 1), counts.rows);
  return counts;
}

// The upper tail of a normal distribution.
double tail(double deviations) { return 0.5 * std::erfc(deviations / std::sqrt(2.0)); }

}  // namespace

DynamicShape dynamic_shape(const Problem& problem) {
  DynamicShape shape;
  shape.block = vertex_block(problem.block, problem.dtype);
  const bool half = problem.dtype == DType::kF16;
  shape.size = static_cast<std::int64_t>(size_of(problem.dtype));
  shape.grain_z = shape.block > 1 ? 1 : (half ? 4 : 2);
  shape.x = divide_up(problem.m, shape.block);
  shape.y = divide_up(problem.k, shape.block);
  shape.z = divide_up(problem.n, shape.grain_z);
  shape.density = problem.density;
  shape.max_blocks = whole_up(problem.density * real(shape.x) * real(shape.y));
  return shape;
}

BucketCapacity bucket_capacity(const DynamicShape& shape, const Grid& grid, const DynamicOptions& options) {
  const double factor = 1 + options.oversize;
  const std::int64_t block_bytes = shape.block * shape.block * shape.size;
  BucketCapacity capacity;
  const std::int64_t even = divide_up(shape.max_blocks, grid.tiles());
  capacity.blocks = round_up(static_cast<std::int64_t>(std::llround(real(even) * factor)),
                             std::lcm(block_bytes, std::int64_t{4}) / block_bytes);
  const CellCounts cell = cell_counts(shape, divide_up(shape.x, grid.x), divide_up(shape.y, grid.y));
  const std::int64_t header = shape.block > 1 ? kBlockHeader : kEntryHeader + kEntryWorkerWords * kWorkers;
  const std::int64_t gradient = options.gradient ? kWorkers * (kGradientWords + (shape.block > 1 ? 0 : 1)) : 0;
  capacity.words = round_up(2 * (header + gradient) + whole_up(factor * real(cell.rows) * real(2 + cell.per_row)), 4);
  return capacity;
}

double expected_propagation(const DynamicShape& shape, const Grid& grid, const BucketCapacity& bucket) {
  // A cell's blocks are binomial; it spills when they exceed the buckets of its z tiles.
  const auto cell = static_cast<double>(divide_up(shape.x, grid.x) * divide_up(shape.y, grid.y));
  const double mean = cell * shape.density;
  const double deviation = std::sqrt(std::max(mean * (1 - shape.density), 1e-9));
  const auto room = static_cast<double>(bucket.blocks * grid.z);
  const double chance = tail((room + 0.5 - mean) / deviation);
  const auto cells = static_cast<double>(grid.x * grid.y);
  const double any = 1 - std::pow(1 - chance, cells);
  // What spills finds room among the next cells of its row of the grid; the fuller all are, the farther it goes.
  const double fullness = std::min(mean / room, 0.999);
  const double distance = std::min(1 + chance / (1 - fullness), static_cast<double>(grid.y));
  return any * distance * static_cast<double>(grid.z);
}

DynamicCoster::DynamicCoster(const Machine& machine, const Problem& problem, const DynamicOptions& options)
    : machine_(machine), problem_(problem), options_(options), shape_(dynamic_shape(problem)) {}

bool DynamicCoster::evaluate(const Grid& grid, DynamicCost& cost) const {
  cost = {};
  cost.grid = grid;
  cost.bucket = bucket_capacity(shape_, grid, options_);
  const std::int64_t x = divide_up(shape_.x, grid.x), y = divide_up(shape_.y, grid.y), z = divide_up(shape_.z, grid.z);
  const std::int64_t n = z * shape_.grain_z;
  if (shape_.block == 1 && (y - 1) * n * shape_.size > 65535) return false;
  cost.forward = price(cost, false);
  if (options_.passes == Passes::kForwardAndTransposed) cost.transposed = price(cost, true);

  const std::int64_t partial_size = options_.half_partials ? 2 : 4;
  const std::int64_t buckets = std::max<std::int64_t>(grid.z - 1, 2) * cost.bucket.bytes(shape_);
  const auto bytes = [&](std::int64_t in, std::int64_t out, std::int64_t parts) {
    const bool finish = parts > 1 || partial_size != shape_.size;
    const std::int64_t partials = out * shape_.block * n * (finish ? partial_size : 0);
    return in * shape_.block * n * shape_.size + buckets + partials;
  };
  cost.tile_bytes = bytes(y, x, grid.y);
  if (options_.passes == Passes::kForwardAndTransposed)
    cost.tile_bytes = std::max(cost.tile_bytes, bytes(x, y, grid.x));
  return true;
}

PassCost DynamicCoster::price(const DynamicCost& cost, bool transposed) const {
  const Grid& grid = cost.grid;
  const std::int64_t exchange = machine_.exchange_bytes_per_cycle;
  const std::int64_t x = divide_up(shape_.x, grid.x), y = divide_up(shape_.y, grid.y), z = divide_up(shape_.z, grid.z);
  const std::int64_t n = z * shape_.grain_z;
  const std::int64_t in = transposed ? x : y, out = transposed ? y : x;
  const std::int64_t in_all = transposed ? shape_.x : shape_.y;
  const std::int64_t in_copies = transposed ? grid.y : grid.x, out_parts = transposed ? grid.x : grid.y;
  // Tiles on one bus share what they receive alike.
  const auto sharing = [&](std::int64_t consecutive) {
    return consecutive % machine_.tiles_per_bus == 0 || consecutive == machine_.tiles ? machine_.tiles_per_bus
                                                                                      : std::int64_t{1};
  };
  PassCost pass;
  const std::int64_t grain_bytes = shape_.block * shape_.grain_z * shape_.size;
  const std::int64_t slice = in * z * grain_bytes;
  if (slice > divide_up(in_all * shape_.z, machine_.tiles) * grain_bytes)
    pass.x_exchange = divide_up(slice, exchange * sharing(in_copies));
  const std::int64_t bucket_bytes = cost.bucket.bytes(shape_);
  if (grid.z > 1) pass.bucket_exchange = divide_up(grid.z * bucket_bytes, exchange * sharing(grid.x == 1 ? grid.z : 1));
  const std::int64_t partials = out * shape_.block * n;
  pass.zero = round_up(partials, kWorkers);

  const CellCounts cell = cell_counts(shape_, x, y);
  DynamicWork work;
  work.dtype = problem_.dtype;
  work.half_partials = options_.half_partials;
  work.buckets = grid.z;
  work.n = n;
  work.rows = cell.rows;
  work.entries = cell.rows * cell.per_row;
  if (shape_.block > 1) {
    pass.compute = dynamic_block_cycles(work, shape_.block, transposed);
    if (transposed) pass.transpose = block_transpose_cycles(problem_.dtype, shape_.block, grid.z * cost.bucket.blocks);
  } else {
    if (!transposed) work.rows = divide_up(cell.rows, kWorkers);
    work.entries = work.rows * (transposed ? divide_up(cell.per_row, kWorkers) : cell.per_row);
    pass.compute = dynamic_entry_cycles(work, transposed);
  }
  const std::int64_t partial_size = options_.half_partials ? 2 : 4;
  if (out_parts > 1) pass.partial_exchange = divide_up(partials * partial_size, exchange);
  pass.reduce =
      dynamic_reduce_cycles(problem_.dtype, options_.half_partials, divide_up(partials, out_parts), out_parts);
  if (options_.count_propagation) {
    // A step moves one bucket; its compute reads the headers and finds nothing, or what was counted above.
    const std::int64_t step = divide_up(bucket_bytes, exchange) + kBucketCycles;
    pass.propagation = whole_up(expected_propagation(shape_, grid, cost.bucket) * real(step));
  }
  return pass;
}

std::vector<Phase> calibrated_phases(const DynamicCost& cost, std::int64_t block) {
  const double factor = block > 1 ? kDynamicBlocks : kDynamicEntries;
  const PassCost& pass = cost.forward;
  std::vector<Phase> phases = {{"distribute", factor * real(pass.x_exchange + pass.bucket_exchange)},
                               {"compute", factor * real(pass.zero + pass.compute)},
                               {"reduce", factor * real(pass.partial_exchange + pass.reduce)}};
  if (pass.propagation > 0) phases.insert(phases.begin() + 2, {"propagate", factor * real(pass.propagation)});
  return phases;
}

double calibrated_cycles(const DynamicCost& cost, std::int64_t block) {
  double cycles = 0;
  for (const Phase& phase : calibrated_phases(cost, block)) cycles += phase.cycles;
  return cycles;
}

}  // namespace espalier::ipu
