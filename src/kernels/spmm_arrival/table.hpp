// The rows of products of values in the caller's own order, for src/kernels/table.cpp.
#pragma once

#include "kernels/kernel_info.hpp"

namespace espalier::kernels {

std::span<const KernelInfo> spmm_arrival_kernels();

}  // namespace espalier::kernels
