// bench_sampled: the sampled product dW = dY X^T at a pattern against the full gradient by dense peers.
//
//   bench_sampled [SIZE [COLUMNS [THREADS]]]     m = k = SIZE (1024), n = COLUMNS (64), THREADS (1)
//
// X is given to the dense peers as n x k, so that none of them has to transpose it; those that prepack do so untimed.
// Each cell is checked against the best peer's result first; then all take turns, and medians of hot calls are printed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <espalier/cpu.hpp>
#include <espalier/sampled.hpp>
#include <vector>

#include "peers/product_peer.hpp"
#include "sparse/random_matrix.hpp"

namespace espalier {
namespace {

constexpr int kRounds = 31;

struct Case {
  Block block;
  double density;
};

double milliseconds(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

// The largest difference between dW and the dense result at the pattern, relative to the largest value.
double worst_error(const BlockSparse& dw, const Tensor& full) {
  const Tensor sampled = decode(dw);
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < full.values<float>().size(); ++i) {
    const double value = static_cast<double>(sampled.values<float>()[i]);
    const double expected = static_cast<double>(full.values<float>()[i]);
    largest = std::max(largest, std::abs(expected));
    if (value != 0) worst = std::max(worst, std::abs(value - expected));
  }
  return largest > 0 ? worst / largest : 0;
}

int measure(const Case& c, std::int64_t size, std::int64_t n, int threads) {
  const auto executor = make_executor(threads);
  const Tensor dy = sparse::random_matrix(size, n, DType::kF32, 1), x = sparse::random_matrix(size, n, DType::kF32, 2);
  Tensor x_tokens(DType::kF32, {n, size}), full(DType::kF32, {size, size});
  for (std::int64_t i = 0; i < size * n; ++i)
    x_tokens.values<float>()[static_cast<std::size_t>(i % n * size + i / n)] =
        x.values<float>()[static_cast<std::size_t>(i)];
  BlockSparse dw = *encode_block(sparse::random_matrix(size, size, DType::kF32, 3),
                                 sparse::random_block_mask(size, size, c.block, c.density, 4), c.block);
  const auto plan = plan_sampled_matmul(dw);
  if (!plan) return fmt::print(stderr, "bench_sampled: {}\n", plan.error().message), 1;
  const auto ours = [&] { return plan->run(dy, x, dw.values.values<float>(), *executor); };
  if (const Status status = ours(); !status)
    return fmt::print(stderr, "bench_sampled: {}\n", status.error().message), 1;

  const peers::DenseProblem problem{.m = size,
                                    .k = n,
                                    .n = size,
                                    .w = dy.raw(),
                                    .x = x_tokens.raw(),
                                    .y = full.raw(),
                                    .threads = threads,
                                    .isa = active_isa()};
  std::vector<peers::ProductPeer> dense;
  for (const auto& family : {peers::openblas(problem), peers::onednn(problem), peers::own_dense(problem)})
    dense.insert(dense.end(), family.begin(), family.end());
  std::vector<std::vector<double>> times(dense.size());
  std::vector<double> own;
  for (int round = 0; round < kRounds; ++round) {
    own.push_back(milliseconds([&] { (void)ours(); }));
    for (std::size_t i = 0; i < dense.size(); ++i) times[i].push_back(milliseconds(dense[i].run));
  }
  const double kept = static_cast<double>(plan->value_count()), ms = median(own);
  const double entries = static_cast<double>(size) * static_cast<double>(size), columns = static_cast<double>(n);
  fmt::print("{}x{} d 1/{:.1f} n {} {}: {:.4f} ms, {:.1f} GFLOP/s\n", c.block.rows, c.block.cols, entries / kept, n,
             plan->kernel(), ms, 2 * kept * columns / ms / 1e6);
  for (std::size_t i = 0; i < dense.size(); ++i) {
    dense[i].run();
    if (dense[i].collect) dense[i].collect();
    const double error = worst_error(dw, full), dense_ms = median(times[i]);
    fmt::print("    {:<28} {:.4f} ms, {:.1f} GFLOP/s, ours {:.2f} times as fast, error {:.1e}\n", dense[i].name,
               dense_ms, 2 * entries * columns / dense_ms / 1e6, dense_ms / ms, error);
    if (!(error < 1e-4)) return fmt::print(stderr, "bench_sampled: results differ\n"), 1;
  }
  return 0;
}

}  // namespace
}  // namespace espalier

int main(int argc, char** argv) {
  const auto number = [&](int index, long otherwise) { return argc > index ? std::atol(argv[index]) : otherwise; };
  const long size = number(1, 1024), n = number(2, 64), threads = number(3, 1);
  if (size < 1 || n < 1 || threads < 1)
    return fmt::print(stderr, "usage: bench_sampled [SIZE [COLUMNS [THREADS]]]\n"), 2;
  int failed = 0;
  for (const espalier::Case& c :
       {espalier::Case{{16, 16}, 0.125}, {{32, 32}, 0.125}, {{8, 8}, 0.125}, {{4, 4}, 0.125}, {{1, 1}, 0.1}})
    failed |= espalier::measure(c, size, n, static_cast<int>(threads));
  return failed;
}
