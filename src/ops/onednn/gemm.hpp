// A matrix product on oneDNN without preparation, for nodes that run one at a time.
#pragma once

#include <cstdint>

namespace espalier::ops {

// Row-major: y (m x n) = alpha a' b' + beta y; a' is a (m x k), or the transpose of a (k x m), b' likewise.
struct GemmSpec {
  std::int64_t m = 1, k = 1, n = 1;
  bool trans_a = false, trans_b = false;
  float alpha = 1, beta = 0;
  int threads = 1;
};

// False when oneDNN is absent or may not run (see dense_available); y is then untouched.
bool gemm(const GemmSpec& spec, const float* a, const float* b, float* y);

// y (m x n, i32) = (a - a_zero)(b' - b_zero), exactly, for 8-bit a (m x k) and i8 b. False when oneDNN cannot: the
// caller has a reference. Before VNNI, oneDNN's 8-bit products may saturate, so it is not asked there.
struct IntegerGemmSpec {
  std::int64_t m = 1, k = 1, n = 1;
  bool a_signed = false, trans_b = false;
  std::int32_t a_zero = 0, b_zero = 0;
  int threads = 1;
};
bool integer_gemm(const IntegerGemmSpec& spec, const void* a, const std::int8_t* b, std::int32_t* y);

}  // namespace espalier::ops
