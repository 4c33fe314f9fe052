// The precondition of what takes a format without returning a Result: an invalid matrix is the caller's bug.
#pragma once

#include <espalier/sparse.hpp>

#include "base/check.hpp"

namespace espalier::sparse {

template <typename Format>
void require_valid(const Format& matrix) {
  const bool valid_matrix = validate(matrix).has_value();
  ESPALIER_CHECK(valid_matrix);
}

}  // namespace espalier::sparse
