// The rows of the 2:4 family for src/kernels/table.cpp.
#pragma once

#include "kernels/kernel_info.hpp"

namespace espalier::kernels {

std::span<const KernelInfo> spmm_nm_kernels();

}  // namespace espalier::kernels
