// Whether a kernel of the table can be tested here, on hardware or by emulated tile instructions.
#pragma once

#include <espalier/cpu.hpp>
#include <string>

#include "kernels/kernel_info.hpp"
#include "kernels/testing/amx_emulator.hpp"

namespace espalier::kernels {

// Empty when it can, else what the machine lacks.
inline std::string testing_reason_to_skip(const KernelInfo& kernel) {
  const CpuFeatures& features = machine_features();
  if (kernel.isa == Isa::kAmx && best_isa(features) < Isa::kAmx) {
    const bool vectors = features.avx512vbmi && features.avx512vbmi2 && features.avx512bf16 && features.avx512vnni;
    if (!vectors) return "this machine lacks the vector instructions that AMX kernels use beside tiles";
    return espalier::testing::enable_amx() ? "" : "tile instructions cannot be emulated here";
  }
  if (kernel.isa > best_isa(features)) return "this machine lacks " + std::string(to_string(kernel.isa));
  if (kernel.needs.avx512bf16 && !features.avx512bf16) return "this machine lacks avx512_bf16";
  return {};
}

}  // namespace espalier::kernels
