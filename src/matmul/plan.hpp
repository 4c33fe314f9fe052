// What a MatmulPlan holds.
#pragma once

#include <espalier/matmul.hpp>
#include <memory>
#include <string>
#include <vector>

#include "matmul/choose.hpp"
#include "matmul/product.hpp"
#include "matmul/weights.hpp"

namespace espalier {

struct MatmulPlan::Impl {
  Product product;
  std::unique_ptr<PackedWeights> weights;
  Choice choice;
  Blocking blocking;
  std::string kernel, pattern;
  DType weight_type = DType::kF32;
  double density = 1;
  MatmulOptions options;  // bias points into the next
  std::vector<float> bias;
};

// The machine as options ask for it.
MachineFacts machine_facts(std::optional<Isa> isa, int threads, bool deterministic);

// Shapes, types and addresses of a call; what `who` reports in messages.
Status check_call(const ConstMatrix& x, const ConstMatrix* residual, const MutableMatrix& y, std::int64_t m,
                  std::int64_t k, DataOrder order);

}  // namespace espalier
