// The int8 family's rows for src/kernels/table.cpp.
#pragma once

#include "kernels/kernel_info.hpp"

namespace espalier::kernels {

std::span<const KernelInfo> spmm_int8_kernels();

}  // namespace espalier::kernels
