// Random sizes, patterns and matrices for property tests.
#pragma once

#include <rapidcheck.h>

#include "sparse/random_matrix.hpp"

namespace espalier::sparse {

inline std::int64_t generate_size(std::int64_t low, std::int64_t high) {
  return *rc::gen::inRange<std::int64_t>(low, high + 1);
}

inline DType generate_value_type() {
  return *rc::gen::element(DType::kF32, DType::kF64, DType::kBf16, DType::kF16, DType::kI8, DType::kU8);
}

inline Block generate_block() { return {generate_size(1, 9), generate_size(1, 9)}; }

inline Nm generate_nm() {
  const std::int64_t m = generate_size(1, 33);
  return {generate_size(1, m), m, generate_size(1, 5)};
}

inline Pattern generate_pattern() {
  switch (generate_size(0, 4)) {
    case 0:
      return Dense{};
    case 1:
      return generate_block();
    case 2:
      return generate_nm();
    case 3:
      return Vnm{generate_size(1, 9), generate_size(1, 4), generate_size(4, 12)};
    default:
      return Unstructured{};
  }
}

// A mask of any kind with the matrix that it is applied to.
struct Masked {
  Tensor dense;
  Mask mask;
};

inline Masked generate_masked() {
  const std::int64_t rows = generate_size(0, 40), cols = generate_size(0, 40);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const double density = static_cast<double>(generate_size(0, 10)) / 10;
  return {random_matrix(rows, cols, generate_value_type(), seed), random_mask(rows, cols, density, seed + 1)};
}

}  // namespace espalier::sparse
