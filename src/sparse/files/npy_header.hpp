// The dictionary in the header of a .npy file.
#pragma once

#include <espalier/tensor.hpp>
#include <string_view>

namespace espalier::files {

struct NpyHeader {
  DType dtype = DType::kF32;
  bool fortran_order = false;
  Shape shape;
};

// "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" with keys in any order. Errors: kInvalidData with the
// position in the text; kUnsupported naming an element type that Tensor lacks.
Result<NpyHeader> parse_npy_header(std::string_view text, std::string_view where);

// "<f4" and so on.
std::string_view npy_descr(DType dtype);

}  // namespace espalier::files
