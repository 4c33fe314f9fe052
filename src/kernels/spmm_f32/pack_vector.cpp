// X of one column as a plain vector, gathered from any stride.
#include <cstring>

#include "kernels/spmm_f32/spmm_f32.hpp"

namespace espalier::kernels {

void pack_vector_f32(const PackXArgs& args) {
  // One token, or one column: either way its features are `step` bytes apart.
  const bool tokens = args.order == Order::kTokens;
  const std::int64_t step = tokens ? static_cast<std::int64_t>(sizeof(float)) : args.stride;
  const char* const x = static_cast<const char*>(args.x) + args.first_row * step +
                        args.first_column * (tokens ? args.stride : static_cast<std::int64_t>(sizeof(float)));
  float* const target = static_cast<float*>(args.panels);
  for (std::int64_t k = 0; k < args.rows; ++k) std::memcpy(target + k, x + k * step, sizeof(float));
  for (std::int64_t k = args.rows; k < args.packed_rows; ++k) target[k] = 0;
}

}  // namespace espalier::kernels
