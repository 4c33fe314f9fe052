// A dense operator prepared with oneDNN: shapes, layouts, packed weights and fused epilogue are fixed once, then it
// runs any number of times. The only door to oneDNN for the planner; built without oneDNN, every maker returns
// kUnsupported.
//
// A DensePrimitive is immutable and may be shared by threads; each thread that runs it holds a DenseBinding of its own.
// oneDNN uses OpenMP's threads: run outside parallel regions, with DenseThreads in scope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <espalier/graph.hpp>
#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <memory>
#include <string>
#include <vector>

namespace espalier::ops {

// How an activation N x C x spatial lies in memory; weights and everything else are the primitive's own business.
enum class DenseLayout : std::uint8_t { kRowMajor, kChannelsLast };

// y = activation(product + bias + residual).
struct DenseEpilogue {
  enum class Residual : std::uint8_t {
    kNone,
    kInPlace,  // y holds the residual when the run starts
    kSeparate  // a buffer of y's shape and layout
  };
  Fusion fusion;  // its activation; the residual's id is ignored
  Residual residual = Residual::kNone;
};

// A convolution as ONNX has it: x is N x C x spatial, w is O x C/groups x kernel.
struct DenseConvSpec {
  Shape x, w, y;
  std::vector<std::int64_t> strides, dilations, pads;  // pads: all begins, then all ends
  std::int64_t groups = 1;
  DenseLayout x_layout = DenseLayout::kRowMajor, y_layout = DenseLayout::kRowMajor;
  DType x_type = DType::kF32, y_type = DType::kF32;
  DenseEpilogue epilogue;
};

// y[m, n] = x[m, k] w[k, n]; w_transposed: w is stored n x k.
struct DenseMatmulSpec {
  std::int64_t m = 0, k = 0, n = 0;
  bool w_transposed = false;
  DType x_type = DType::kF32, y_type = DType::kF32;
  DenseEpilogue epilogue;
};

struct DensePoolSpec {
  enum class Kind : std::uint8_t { kMax, kAverageWithoutPadding, kAverageWithPadding };
  Kind kind = Kind::kMax;
  Shape x, y;
  std::vector<std::int64_t> kernel, strides, dilations, pads;
  DenseLayout layout = DenseLayout::kRowMajor;  // of both sides
  DType type = DType::kF32;
};

// One side of a change of layout.
struct DenseForm {
  DenseLayout layout = DenseLayout::kRowMajor;
  DType type = DType::kF32;
};

// Whether oneDNN is built in and may be used: the active instruction set is at least AVX2. The first call limits oneDNN
// to the active instruction set, for the life of the process.
bool dense_available();
// Whether it multiplies bf16 with the processor's own instructions under the active instruction set. Elsewhere it would
// emulate them, slower than f32.
bool dense_offers_bf16();

class DenseBinding;

class DensePrimitive {
 public:
  // Activations in f32 or bf16 as the spec says, weights packed in the type of x, sums and bias in f32; `weights` and
  // `bias` (may be undefined) are f32. With `sibling`, a primitive made from the same weights for other shapes, packed
  // weights are shared where their layouts agree. Error: kUnsupported with oneDNN's reason.
  static Result<DensePrimitive> convolution(const DenseConvSpec& spec, const Tensor& weights, const Tensor& bias,
                                            const DensePrimitive* sibling = nullptr);
  static Result<DensePrimitive> matmul(const DenseMatmulSpec& spec, const Tensor& weights, const Tensor& bias,
                                       const DensePrimitive* sibling = nullptr);
  static Result<DensePrimitive> pooling(const DensePoolSpec& spec);
  // A change of layout or type of an N x C x spatial tensor.
  static Result<DensePrimitive> reorder(const Shape& shape, DenseForm from, DenseForm to);

  // "onednn:brg:avx512_core".
  const std::string& kernel() const;
  std::size_t scratch_bytes() const;
  std::size_t weight_bytes() const;  // packed

  struct Impl;

 private:
  friend class DenseBinding;
  explicit DensePrimitive(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// What one thread needs to run a primitive. Movable; keeps the primitive alive.
class DenseBinding {
 public:
  explicit DenseBinding(const DensePrimitive& primitive);
  DenseBinding(DenseBinding&&) noexcept;
  DenseBinding& operator=(DenseBinding&&) noexcept;
  ~DenseBinding();

  // `residual` is read only with Residual::kSeparate; `scratch` holds scratch_bytes(), 64-byte aligned.
  Status run(const void* x, const void* residual, void* y, std::byte* scratch);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Sets how many threads oneDNN uses for primitives made and run by this thread; restores the number when destroyed.
class DenseThreads {
 public:
  explicit DenseThreads(int threads);
  DenseThreads(const DenseThreads&) = delete;
  DenseThreads& operator=(const DenseThreads&) = delete;
  ~DenseThreads();

 private:
  int before_ = 0;
};

}  // namespace espalier::ops
