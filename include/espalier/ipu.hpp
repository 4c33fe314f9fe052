// Block-sparse products on Graphcore's IPU, as PopSparse (arXiv 2303.16999) plans them: Y = W X with W m x k sparse in
// square blocks, X k x n. Plans, partitions, simulates and prices them without the machine.
//
// The machine is many tiles, each with its own memory and worker threads, that alternate in step between computing on
// their own memory and exchanging. *Static*: the pattern is known when the product is planned. *Dynamic*: only its
// largest density is; the pattern is encoded into equal buckets and travels with the data. Cycles are a model: the
// planner's published estimate (raw), or that estimate calibrated on published measurements (docs/ipu.md).
#pragma once

#include <cstdint>
#include <espalier/executor.hpp>
#include <espalier/export.hpp>
#include <espalier/graph.hpp>
#include <espalier/inspect.hpp>
#include <espalier/status.hpp>
#include <espalier/types.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::ipu {

// ---- Machines ----------------------------------------------------------------------------------------------------

inline constexpr std::int64_t kMaxTiles = 65535;

struct Machine {
  std::string name;
  std::int64_t tiles = 0;
  std::int64_t workers = 0;  // threads per tile
  std::int64_t tile_bytes = 0;
  double clock_hz = 0;
  std::int64_t exchange_bytes_per_cycle = 0;  // received by a tile
  std::int64_t tiles_per_bus = 0;             // tiles that receive equal data at once
  // Multiply-accumulates of one tile by type of the data and of the partial sums.
  std::int64_t macs_f16_f16 = 0, macs_f16_f32 = 0, macs_f32_f32 = 0;
};

// By name ("bow", "gc200"), or from a JSON file (a path that ends in .json) of the form of
// src/targets/ipu/machines/bow.json. Errors: kNotFound naming the known machines, kIo, kInvalidData.
ESPALIER_API Result<Machine> find_machine(std::string_view name);
ESPALIER_API std::vector<std::string> machine_names();

// ---- Estimates ---------------------------------------------------------------------------------------------------

// kBest searches what the published planners fix; its result is never worse than both under the model.
enum class Mode : std::uint8_t { kDense, kStatic, kDynamic, kBest };
ESPALIER_API std::string_view to_string(Mode mode) noexcept;

struct Problem {
  std::int64_t m = 0, k = 0, n = 0;
  std::int64_t block = 1;  // 1, 4, 8, 16, or 32 (run as 16 x 16)
  double density = 1;      // kept blocks / all blocks; of a dynamic product its capacity
  DType dtype = DType::kF16;
};

// One step of the machine, or all steps of a kind.
struct Phase {
  std::string name;
  double cycles = 0;
};

struct Estimate {
  Problem problem;
  Mode mode = Mode::kStatic;
  double cycles = 0;            // calibrated
  double raw_cycles = 0;        // as the published planner counts them; of a dense product the same
  double tflops = 0;            // of the kept entries alone: 2 m k n density / time
  double dense_cycles = 0;      // the same product dense
  double speedup = 0;           // dense_cycles / cycles
  std::int64_t tile_bytes = 0;  // needed on the fullest tile
  std::vector<Phase> phases;    // calibrated; they add up to `cycles`
  std::string plan;             // in words: "static: 4 n splits, 31 bands, ..."
  std::string plan_json;        // the same for programs, an object
};

// From expected counts of a uniformly random pattern; under 50 ms. Errors: kInvalidArgument for sizes, a block or a
// type that the method does not know; kLimit when no plan fits the tiles' memory, with the bytes that the smallest
// plan needs.
ESPALIER_API Result<Estimate> estimate(const Machine& machine, const Problem& problem, Mode mode);
// The n of 4, 16, 64, ... 65536 with the highest rate; problem.n is ignored. `dense_cycles` and `speedup` then compare
// rates with the best dense n of the same list.
ESPALIER_API Result<Estimate> estimate_best_n(const Machine& machine, const Problem& problem, Mode mode);

// Every product of a network with constant weights, its pattern as recognised (blocks become the largest square that
// divides them); what is not sparse, or faster dense, runs dense. Products run one after another.
struct LayerEstimate {
  std::string name, op;
  Problem problem;
  Mode mode = Mode::kDense;
  double cycles = 0, dense_cycles = 0;
  std::int64_t tile_bytes = 0;
  std::string plan;
};
struct NetworkEstimate {
  std::vector<LayerEstimate> layers;
  double cycles = 0, dense_cycles = 0;
  std::int64_t skipped = 0;  // products of two activations, in groups, or of unknown shape
};
// Errors: as estimate, naming the layer; kInvalidData when no product can be priced.
ESPALIER_API Result<NetworkEstimate> estimate_network(const Machine& machine, const Graph& graph, Mode mode,
                                                      DType dtype, const InspectOptions& shapes = {});

// ---- Simulation --------------------------------------------------------------------------------------------------

struct SimulatedProduct {
  Estimate estimate;              // of the plan that ran, made for this pattern
  std::vector<Phase> phases;      // cycles as vertices and exchange count them on the busiest tile, not calibrated
  double cycles = 0;              // their sum
  std::int64_t tile_bytes = 0;    // counted on the fullest tile at its fullest time
  std::int64_t supersteps = 0;    // phases of computing or exchanging
  std::int64_t moved_bytes = 0;   // between tiles
  std::int64_t spilled = 0;       // dynamic: blocks that did not fit the buckets of their cell
  double max_error = 0;           // against the product in f64
  double max_error_of_bound = 0;  // the same, as a fraction of what rounding may cause at that place; at most 1
};

// Draws a uniformly random pattern and values as the published measurements did, plans, and runs the product tile by
// tile on real data; compares it with the product in f64. Mode dense is kUnsupported. Errors: as estimate; kLimit when
// a pattern does not fit its buckets; kInvalidData when the result is further from the reference than rounding
// explains.
ESPALIER_API Result<SimulatedProduct> simulate(const Machine& machine, const Problem& problem, Mode mode,
                                               std::uint64_t seed, Executor& executor);

}  // namespace espalier::ipu
