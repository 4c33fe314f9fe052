// Vector loops over contiguous rows of f32, where networks spend time outside products: one table per instruction set.
// Included by files that are compiled for one instruction set: plain data only. Nothing here allocates, throws or
// starts threads; no alignment is needed, nothing outside the rows is read or written.
#pragma once

#include <cstdint>
#include <espalier/activation.hpp>

namespace espalier::ops {

// y[i] = activation(x[i] + residual[i]); residual may be nullptr, y may be x or residual.
struct ActivateArgs {
  Activation activation = Activation::kNone;
  float low = 0, high = 0;
  const float* x = nullptr;
  const float* residual = nullptr;
  float* y = nullptr;
  std::int64_t count = 0;
};

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias over one row; bias may be nullptr, y may be x.
struct NormaliseArgs {
  const float* x = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  float* y = nullptr;
  std::int64_t count = 0;
  float epsilon = 0;
  float mean = 0, inverse_deviation = 0;  // out
};

struct RowLoops {
  void (*activate)(const ActivateArgs& args);
  void (*softmax)(const float* x, float* y, std::int64_t count);  // count >= 1
  void (*normalise)(NormaliseArgs& args);
  void (*exp)(const float* x, float* y, std::int64_t count);
  void (*erf)(const float* x, float* y, std::int64_t count);
  float (*sum)(const float* x, std::int64_t count);
};

extern const RowLoops kRowLoopsAvx2, kRowLoopsAvx512;

// The table for the active instruction set; nullptr on the baseline, where the operators' own loops run.
const RowLoops* row_loops();

}  // namespace espalier::ops
