// Seeded inputs for benchmarks.
#include <espalier/runtime.hpp>
#include <random>

namespace espalier {

std::vector<NamedTensor> random_inputs(const Plan& plan, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<NamedTensor> inputs;
  for (const TensorInfo& port : plan.inputs()) {
    Tensor values(DType::kF32, port.planned);
    for (float& value : values.values<float>())
      value = is_float(port.dtype) ? normal(random) : static_cast<float>(random() % 2);
    inputs.push_back({port.name, port.dtype == DType::kF32 ? values : values.cast(port.dtype)});
  }
  return inputs;
}

}  // namespace espalier
