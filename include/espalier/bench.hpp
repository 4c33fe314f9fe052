// Measuring latency: contestants take turns in one process, so that a noisy machine is unfair to none of them.
//
// Times are milliseconds. Not thread-safe: one race at a time.
#pragma once

#include <cstdint>
#include <espalier/export.hpp>
#include <espalier/plan.hpp>
#include <espalier/runtime.hpp>
#include <espalier/status.hpp>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace espalier {

struct BenchOptions {
  double seconds = 3.0;        // for all contestants together, after the warm-up
  double warmup = 0.5;         // seconds
  std::int64_t min_runs = 10;  // of each contestant, however long they take
};

struct Latency {
  double min_ms = 0, median_ms = 0, p90_ms = 0, p99_ms = 0;
  std::int64_t runs = 0;
};
// Of times in milliseconds, in any order; zeros when there are none.
ESPALIER_API Latency summarize(std::vector<double> milliseconds);

// Something to time; an error ends the race and is returned.
struct Contestant {
  std::string name;
  std::function<Status()> run = nullptr;
  // Instead of `run`: one call, timed where it happens (another process), in milliseconds.
  std::function<Result<double>()> timed = nullptr;
};
// Runs them in turn in blocks of a few calls, so that each is timed with its own weights warm (the serving case).
ESPALIER_API Result<std::vector<Latency>> race(std::span<const Contestant> contestants, const BenchOptions& options);

// One session per plan, all with the same inputs (random_inputs of the first plan when empty), outputs preallocated.
ESPALIER_API Result<std::vector<Latency>> race_plans(std::span<const Plan> plans, std::span<const NamedTensor> inputs,
                                                     const BenchOptions& options);

struct Throughput {
  double runs_per_second = 0;
  Latency latency;
};
// `streams` sessions of one plan at once, each with plan.threads() / streams threads (at least 1).
ESPALIER_API Result<Throughput> measure_streams(const Plan& plan, std::span<const NamedTensor> inputs, int streams,
                                                const BenchOptions& options);

// The report of `plan` with measured_ms and dense_ms afresh: both plans run in turn, every layer timed inside its
// network. `dense` is the same graph compiled with WeightUse::kDense.
ESPALIER_API Result<PlanReport> measure_layers(const Plan& plan, const Plan& dense, std::span<const NamedTensor> inputs,
                                               const BenchOptions& options);

}  // namespace espalier
