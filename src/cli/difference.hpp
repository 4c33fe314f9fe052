// How far two tensors are apart.
#pragma once

#include <espalier/tensor.hpp>
#include <string>

#include "context.hpp"

namespace espalier::cli {

struct Difference {
  std::string name;
  double max_abs = 0;  // largest |a - b|; infinite where only one is NaN
  double max_rel = 0;  // max_abs over the largest |a|
};

// Error: kInvalidData when the shapes differ.
Result<Difference> measure_difference(const std::string& name, const Tensor& a, const Tensor& b);

}  // namespace espalier::cli
