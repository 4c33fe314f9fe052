// What a MatmulPlan holds.
#pragma once

#include <espalier/matmul.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "matmul/choose.hpp"
#include "matmul/product.hpp"
#include "matmul/transposed.hpp"
#include "matmul/weights.hpp"

namespace espalier {

struct MatmulPlan::Impl {
  Product product;
  std::unique_ptr<PackedWeights> weights;
  std::optional<TransposedWeights> transposed;  // how values given for W become those of its transpose
  Choice choice;
  Blocking blocking;
  std::string kernel, pattern;
  DType weight_type = DType::kF32;  // of the matrix that was planned
  double density = 1;
  MatmulOptions options;  // its spans point into the next
  std::vector<float> bias;
  std::vector<double> bias_f64;
  std::vector<float> row_scale;          // of i8 weights; empty: 1
  std::vector<std::int32_t> row_offset;  // what the zero point of X adds to each sum; empty: 0

  // Packs the weights, values of any type for the planned pattern, and what depends on them. Needs `options`.
  void set_values(const Tensor& values);
  void set_scales();
};

// The machine as options ask for it.
MachineFacts machine_facts(std::optional<Isa> isa, int threads, bool deterministic);

// What a call must fit.
struct CallShape {
  std::int64_t m = 0, k = 0;
  DataOrder x_order = DataOrder::kFeatureMajor, y_order = DataOrder::kFeatureMajor;
  DType x = DType::kF32, y = DType::kF32;
};
// What options refuse: types, lengths, quantization.
Status check_options(const MatmulOptions& options, std::int64_t m, DType weights);
// Shapes, types and addresses of a call.
Status check_call(const ConstMatrix& x, const ConstMatrix* residual, const MutableMatrix& y, const CallShape& shape);

}  // namespace espalier
