// The cost model: time as a sum of what a product must compute, look up and move. Pure.
#include <algorithm>
#include <espalier/machine.hpp>

namespace espalier {

Ceilings nominal_ceilings(Isa isa) noexcept {
  switch (isa) {
    case Isa::kScalar:
      return {.f32_gflops = 25, .bf16_gflops = 0, .int8_gops = 0, .l2_gbs = 50, .memory_gbs = 12};
    case Isa::kAvx2:
      return {.f32_gflops = 110, .bf16_gflops = 0, .int8_gops = 0, .l2_gbs = 100, .memory_gbs = 14};
    case Isa::kAvx512:
      return {.f32_gflops = 200, .bf16_gflops = 0, .int8_gops = 0, .l2_gbs = 160, .memory_gbs = 20};
    case Isa::kVnni:
      return {.f32_gflops = 200,
              .bf16_gflops = 200,
              .int8_gops = 850,
              .l2_gbs = 160,
              .memory_gbs = 20,
              .bf16_vector_gflops = 200,
              .int8_vector_gops = 850};
    case Isa::kAmx:
      return {.f32_gflops = 200,
              .bf16_gflops = 2700,
              .int8_gops = 5500,
              .l2_gbs = 160,
              .memory_gbs = 25,
              .bf16_vector_gflops = 100,
              .int8_vector_gops = 850};
  }
  return {};
}

Prediction predict(const ProductStats& stats, const KernelCost& cost, const Ceilings& ceilings,
                   const CacheSizes& caches) noexcept {
  constexpr double kMsPerNs = 1e-6;
  const auto as_double = [](std::int64_t value) { return static_cast<double>(value); };
  Prediction prediction;
  const double operations = 2.0 * as_double(stats.kept_values) * as_double(stats.computed_cols);
  const double rate = std::max(stats.peak_gflops * cost.efficiency, 1e-3);  // GFLOP/s is operations per ns
  prediction.compute_ms = operations / rate * kMsPerNs;
  prediction.overhead_ms =
      as_double(stats.column_tiles) *
      (as_double(stats.kept_units * stats.strips_per_unit) * cost.unit_ns + as_double(stats.strips) * cost.tile_ns) *
      kMsPerNs;
  // Weights that fit L2 together with X are read from there by every column tile; larger ones come from memory.
  const double l2 = caches.l2 > 0 ? as_double(caches.l2) : 1048576.0;
  const double weight_rate = as_double(stats.weight_bytes) < l2 / 2 ? ceilings.l2_gbs : ceilings.memory_gbs;
  prediction.traffic_ms = (as_double(stats.weight_bytes) / std::max(weight_rate, 1e-3) +
                           as_double(stats.x_bytes + stats.y_bytes) / std::max(ceilings.memory_gbs, 1e-3)) *
                          kMsPerNs;
  return prediction;
}

}  // namespace espalier
