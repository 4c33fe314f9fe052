// X of one column as a plain vector of bytes, gathered from any stride.
#include <cstring>

#include "kernels/spmm_int8/spmm_int8.hpp"

namespace espalier::kernels {

void pack_vector_int8(const PackXArgs& args) {
  const bool tokens = args.order == Order::kTokens;
  const std::int64_t step = tokens ? 1 : args.stride;
  const auto* const x =
      static_cast<const std::uint8_t*>(args.x) + args.first_row * step + args.first_column * (tokens ? args.stride : 1);
  auto* const target = static_cast<std::uint8_t*>(args.panels);
  const std::uint8_t flip = args.from_signed ? 0x80 : 0;
  for (std::int64_t k = 0; k < args.rows; ++k) target[k] = static_cast<std::uint8_t>(x[k * step] ^ flip);
  const std::int64_t missing = 4 * args.packed_rows - args.rows;
  if (missing > 0) std::memset(target + args.rows, 0, static_cast<std::size_t>(missing));
}

}  // namespace espalier::kernels
