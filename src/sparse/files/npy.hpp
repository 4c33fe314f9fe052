// The .npy format in memory (NumPy enhancement proposal 1): magic, version, a Python dictionary as text, the elements.
// NumPy has no bf16: its bytes travel as the two-byte void type '<V2', as other libraries do it.
#pragma once

#include <espalier/tensor.hpp>
#include <string>
#include <string_view>

#include "sparse/files/byte_cursor.hpp"

namespace espalier::files {

// Owned tensor in row-major order. `where` names the file in messages.
Result<Tensor> parse_npy(Bytes bytes, std::string_view where);

// All that precedes the elements; a multiple of 64 bytes.
std::string npy_header(DType dtype, const Shape& shape);

}  // namespace espalier::files
