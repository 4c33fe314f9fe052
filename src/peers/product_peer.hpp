// A peer that multiplies a dense W by X, ready to run. One file per peer makes them.
#pragma once

#include <cstdint>
#include <espalier/cpu.hpp>
#include <espalier/types.hpp>
#include <functional>
#include <string>
#include <vector>

namespace espalier::peers {

// Y = W X, all row-major and contiguous; W and X are f32, bf16 or f16 and Y is f32, all are f64, or W is i8, X is u8
// and Y is i32; W holds zeros where it was pruned. The arrays outlive the peer.
struct DenseProblem {
  std::int64_t m = 0, k = 0, n = 0;
  DType type = DType::kF32;  // of W
  const void* w = nullptr;
  const void* x = nullptr;
  void* y = nullptr;
  int threads = 1;
  Isa isa = Isa::kScalar;

  DType x_type() const { return type == DType::kI8 ? DType::kU8 : type; }
  DType y_type() const {
    if (type == DType::kI8) return DType::kI32;
    return type == DType::kF64 ? DType::kF64 : DType::kF32;
  }
};

struct ProductPeer {
  std::string name, version;
  std::function<void()> run;
  std::function<void()> collect = {};  // brings the last result to Y, where `run` leaves it elsewhere; untimed
};

// Each returns what could be prepared: nothing when the peer is not installed or refuses the problem.
std::vector<ProductPeer> own_dense(const DenseProblem& problem);
std::vector<ProductPeer> openblas(const DenseProblem& problem);
std::vector<ProductPeer> onednn(const DenseProblem& problem);

}  // namespace espalier::peers
