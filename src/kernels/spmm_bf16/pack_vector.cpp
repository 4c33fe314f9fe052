// X of one column as a plain vector of bf16, gathered from any stride.
#include <cstring>

#include "kernels/spmm_bf16/spmm_bf16.hpp"

namespace espalier::kernels {

void pack_vector_bf16(const PackXArgs& args) {
  constexpr std::int64_t kBytes = 2;
  const bool tokens = args.order == Order::kTokens;
  const std::int64_t step = tokens ? kBytes : args.stride;
  const char* const x = static_cast<const char*>(args.x) + args.first_row * step +
                        args.first_column * (tokens ? args.stride : kBytes);
  auto* const target = static_cast<char*>(args.panels);
  for (std::int64_t k = 0; k < args.rows; ++k) std::memcpy(target + k * kBytes, x + k * step, kBytes);
  const std::int64_t missing = 2 * args.packed_rows - args.rows;
  if (missing > 0) std::memset(target + args.rows * kBytes, 0, static_cast<std::size_t>(missing * kBytes));
}

}  // namespace espalier::kernels
