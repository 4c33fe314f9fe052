// X of one column as a plain vector, gathered from any stride.
#include <cstring>

#include "kernels/spmm_f32/spmm_f32.hpp"
#include "kernels/spmm_f32/stored.hpp"
#include "kernels/spmm_f64/spmm_f64.hpp"

namespace espalier::kernels {
namespace {

// One token, or one column: either way its features are `step` bytes apart.
template <typename Stored, typename Element, typename Convert>
void pack_vector(const PackXArgs& args, Convert&& convert) {
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(Stored));
  const bool tokens = args.order == Order::kTokens;
  const std::int64_t step = tokens ? kBytes : args.stride;
  const char* const x =
      static_cast<const char*>(args.x) + args.first_row * step + args.first_column * (tokens ? args.stride : kBytes);
  auto* const target = static_cast<Element*>(args.panels);
  for (std::int64_t k = 0; k < args.rows; ++k) {
    Stored stored;
    std::memcpy(&stored, x + k * step, sizeof stored);
    target[k] = convert(stored);
  }
  for (std::int64_t k = args.rows; k < args.packed_rows; ++k) target[k] = 0;
}

}  // namespace

void pack_vector_f32(const PackXArgs& args) {
  if (args.from_f16)
    pack_vector<std::uint16_t, float>(args, widen_f16);
  else
    pack_vector<float, float>(args, [](float value) { return value; });
}

void pack_vector_f64(const PackXArgs& args) {
  pack_vector<double, double>(args, [](double value) { return value; });
}

}  // namespace espalier::kernels
