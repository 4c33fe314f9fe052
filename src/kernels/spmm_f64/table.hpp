// The f64 family's rows for src/kernels/table.cpp.
#pragma once

#include "kernels/kernel_info.hpp"

namespace espalier::kernels {

std::span<const KernelInfo> spmm_f64_kernels();

}  // namespace espalier::kernels
