// Races: blocks of calls in turn, and the summary of their times.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <espalier/bench.hpp>

#include "base/fail.hpp"
#include "plan/plan_state.hpp"

namespace espalier {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Consecutive calls of one contestant: the first finds its weights pushed out by the others, the rest are warm.
constexpr int kBlock = 6;

double quantile(const std::vector<double>& sorted, double q) {
  const auto at = static_cast<std::size_t>(std::lround(q * static_cast<double>(sorted.size() - 1)));
  return sorted[at];
}

Result<double> time_call(const Contestant& contestant) {
  if (contestant.timed) return contestant.timed();
  const auto start = Clock::now();
  ESPALIER_TRY(contestant.run());
  return ms_since(start);
}

struct Entry {
  std::unique_ptr<Session> session;
  std::vector<NamedTensor> outputs;
};

Result<Entry> enter(const Plan& plan, std::span<const NamedTensor> inputs, const SessionOptions& options) {
  Entry entry{std::make_unique<Session>(plan, options), {}};
  ESPALIER_ASSIGN(entry.outputs, entry.session->run(inputs));
  return entry;
}

}  // namespace

Latency summarize(std::vector<double> milliseconds) {
  if (milliseconds.empty()) return {};
  std::sort(milliseconds.begin(), milliseconds.end());
  return {.min_ms = milliseconds.front(),
          .median_ms = quantile(milliseconds, 0.5),
          .p90_ms = quantile(milliseconds, 0.9),
          .p99_ms = quantile(milliseconds, 0.99),
          .runs = static_cast<std::int64_t>(milliseconds.size())};
}

Result<std::vector<Latency>> race(std::span<const Contestant> contestants, const BenchOptions& options) {
  std::vector<std::vector<double>> times(contestants.size());
  const auto warm = Clock::now();
  do {
    for (const Contestant& contestant : contestants) ESPALIER_TRY(time_call(contestant));
  } while (ms_since(warm) < options.warmup * 1e3);

  const auto start = Clock::now();
  std::int64_t done = 0;
  while (done < options.min_runs || ms_since(start) < options.seconds * 1e3) {
    for (std::size_t c = 0; c < contestants.size(); ++c) {
      for (int i = 0; i < kBlock; ++i) {
        ESPALIER_ASSIGN(const double ms, time_call(contestants[c]));
        // With others in the race the first call of a block is the cold one.
        if (i > 0 || contestants.size() == 1) times[c].push_back(ms);
      }
    }
    done += kBlock - 1;
  }
  std::vector<Latency> results;
  for (auto& list : times) results.push_back(summarize(std::move(list)));
  return results;
}

Result<std::vector<Latency>> race_plans(std::span<const Plan> plans, std::span<const NamedTensor> inputs,
                                        const BenchOptions& options) {
  std::vector<NamedTensor> drawn;
  if (inputs.empty() && !plans.empty()) inputs = drawn = random_inputs(plans[0]);
  std::vector<Entry> entries;
  for (const Plan& plan : plans) {
    ESPALIER_ASSIGN(Entry entry, enter(plan, inputs, {}));
    entries.push_back(std::move(entry));
  }
  std::vector<Contestant> contestants;
  for (std::size_t i = 0; i < entries.size(); ++i)
    contestants.push_back(
        {plans[i].name(), [&entry = entries[i], inputs] { return entry.session->run(inputs, entry.outputs); }});
  return race(contestants, options);
}

Result<Throughput> measure_streams(const Plan& plan, std::span<const NamedTensor> inputs, int streams,
                                   const BenchOptions& options) {
  if (streams < 1) return fail(ErrorCode::kInvalidArgument, "streams: expected at least 1, found {}", streams);
  std::vector<NamedTensor> drawn;
  if (inputs.empty()) inputs = drawn = random_inputs(plan);
  std::vector<Entry> entries;
  for (int i = 0; i < streams; ++i) {
    ESPALIER_ASSIGN(Entry entry, enter(plan, inputs, {.threads = std::max(1, plan.threads() / streams)}));
    entries.push_back(std::move(entry));
  }
  std::vector<std::vector<double>> times(entries.size());
  std::vector<Status> outcomes(entries.size());
  const auto start = Clock::now();
  const std::unique_ptr<Executor> pool = make_thread_pool(streams);
  pool->parallel_for(streams, [&](std::int64_t stream, int) {
    const auto i = static_cast<std::size_t>(stream);
    while (outcomes[i] && (ms_since(start) < options.seconds * 1e3 || std::ssize(times[i]) < options.min_runs)) {
      const auto before = Clock::now();
      outcomes[i] = entries[i].session->run(inputs, entries[i].outputs);
      times[i].push_back(ms_since(before));
    }
  });
  const double elapsed_ms = ms_since(start);
  for (const Status& outcome : outcomes) ESPALIER_TRY(outcome);

  std::vector<double> all;
  for (const auto& list : times) all.insert(all.end(), list.begin(), list.end());
  const double per_second = static_cast<double>(all.size()) / elapsed_ms * 1e3;
  return Throughput{.runs_per_second = per_second, .latency = summarize(std::move(all))};
}

}  // namespace espalier
