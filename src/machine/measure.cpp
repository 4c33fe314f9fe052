// Measuring the ceilings: the best of several short runs of each loop, well under two seconds in all.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <espalier/executor.hpp>
#include <espalier/machine.hpp>

#include "base/aligned_buffer.hpp"
#include "machine/peak_loops.hpp"

namespace espalier {
namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Keeps a result alive without the cost of using it.
void keep(float value) { asm volatile("" ::"g"(&value) : "memory"); }

// Best rate in units of 1e9 per second of `work`, which does `amount` units per call.
template <typename Work>
double best_rate(double amount, Work&& work) {
  constexpr int kRuns = 15;
  double best = 1e9;
  work();
  for (int run = 0; run < kRuns; ++run) {
    const double start = seconds();
    work();
    best = std::min(best, seconds() - start);
  }
  return amount / best * 1e-9;
}

double peak_rate(PeakLoop loop, double operations_per_round) {
  // About 2 ms at 100 GFLOP/s for vector loops; tile loops do far more per round.
  const auto rounds = static_cast<std::int64_t>(std::clamp(2e8 / operations_per_round, 1e4, 2e6));
  return best_rate(static_cast<double>(rounds) * operations_per_round, [&] { keep(loop(rounds)); });
}

double read_rate(std::size_t bytes, int passes) {
  AlignedBuffer buffer(bytes);
  std::memset(buffer.data(), 1, bytes);
  const auto* const words = buffer.as<std::uint64_t>();
  const std::size_t count = bytes / sizeof(std::uint64_t);
  return best_rate(static_cast<double>(bytes) * passes, [&] {
    // One word per quarter line in four chains: the caches deliver whole lines, and the loop stays ahead of them.
    std::uint64_t sums[4] = {};
    for (int pass = 0; pass < passes; ++pass)
      for (std::size_t i = 0; i + 32 <= count; i += 32) {
        sums[0] += words[i];
        sums[1] += words[i + 8];
        sums[2] += words[i + 16];
        sums[3] += words[i + 24];
      }
    keep(static_cast<float>(sums[0] + sums[1] + sums[2] + sums[3]));
  });
}

}  // namespace

Machine measure_machine(Isa isa) {
  Machine machine;
  machine.isa = std::min(isa, best_isa(machine_features()));
  machine.features = feature_names(machine_features());
  machine.cores = available_cores();
  machine.caches = cache_sizes();
  Ceilings& c = machine.ceilings;
  if (machine.isa >= Isa::kAvx512)
    c.f32_gflops = peak_rate(f32_peak_avx512, kF32Avx512Operations);
  else if (machine.isa >= Isa::kAvx2)
    c.f32_gflops = peak_rate(f32_peak_avx2, kF32Avx2Operations);
  else
    c.f32_gflops = peak_rate(f32_peak_scalar, kF32ScalarOperations);
  if (features_under(machine_features(), machine.isa).avx512bf16)
    c.bf16_gflops = c.bf16_vector_gflops = peak_rate(bf16_peak_avx512bf16, kBf16VectorOperations);
  if (machine.isa >= Isa::kVnni) c.int8_gops = c.int8_vector_gops = peak_rate(int8_peak_vnni, kInt8VnniOperations);
  if (machine.isa >= Isa::kAmx) {
    c.bf16_gflops = std::max(c.bf16_vector_gflops, peak_rate(bf16_peak_amx, kBf16AmxOperations));
    c.int8_gops = peak_rate(int8_peak_amx, kInt8AmxOperations);
  }
  constexpr std::size_t kDefaultL2 = 1U << 20;
  const std::size_t l2 = machine.caches.l2 > 0 ? static_cast<std::size_t>(machine.caches.l2) : kDefaultL2;
  c.l2_gbs = read_rate(l2 / 2, 8);
  c.memory_gbs = read_rate(l2 * 8, 1);
  return machine;
}

}  // namespace espalier
