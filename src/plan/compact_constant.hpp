// Constants as Plan files hold them: bf16 where that loses nothing, and without runs of zeros.
#pragma once

#include <cstdint>
#include <espalier/status.hpp>
#include <espalier/tensor.hpp>

namespace espalier::plan {

struct CompactConstant {
  Tensor values;         // flat: the whole tensor, or its kept runs one after the other
  Tensor kept;           // u8: bit i % 8 of byte i / 8 says whether run i is kept; undefined: all are
  std::int64_t run = 0;  // elements
};

// Whether -0 may come back as 0: in weights, where both are absent.
enum class ZeroSign : std::uint8_t { kKeep, kDrop };

// The form with the fewest bytes. A constant that is not f32 stays as it is.
CompactConstant compact_constant(const Tensor& tensor, ZeroSign sign);

// The inverse, as `dtype` in `shape`. Error: kInvalidData when sizes do not fit each other.
Result<Tensor> expand_constant(const CompactConstant& compact, DType dtype, const Shape& shape);

}  // namespace espalier::plan
