// DensePrimitive on oneDNN 2.6 and 3.x: the one place where their interfaces differ.
#include "ops/onednn/dense_primitive.hpp"

#include <array>
#include <cstring>
#include <espalier/cpu.hpp>

#include "base/check.hpp"
#include "base/fail.hpp"

#if ESPALIER_WITH_ONEDNN
#include <dnnl.hpp>
#endif
#if ESPALIER_WITH_OPENMP
#include <omp.h>
#endif

namespace espalier::ops {

#if ESPALIER_WITH_OPENMP
DenseThreads::DenseThreads(int threads) : before_(omp_get_max_threads()) {
  if (threads != before_) omp_set_num_threads(threads);
}
DenseThreads::~DenseThreads() {
  if (omp_get_max_threads() != before_) omp_set_num_threads(before_);
}
#else
DenseThreads::DenseThreads(int) {}
DenseThreads::~DenseThreads() = default;
#endif

#if ESPALIER_WITH_ONEDNN
namespace {

// No limit unless the ceiling was lowered: our levels do not name every feature that oneDNN uses (AVX-512 BF16, FP16).
void limit_isa() {
  if (active_isa() == best_isa(machine_features())) return;
  switch (active_isa()) {
    case Isa::kScalar:
      dnnl::set_max_cpu_isa(dnnl::cpu_isa::sse41);
      break;
    case Isa::kAvx2:
      dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
      break;
    case Isa::kAvx512:
      dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core);
      break;
    case Isa::kVnni:
      dnnl::set_max_cpu_isa(machine_features().avx512bf16 ? dnnl::cpu_isa::avx512_core_bf16
                                                          : dnnl::cpu_isa::avx512_core_vnni);
      break;
    case Isa::kAmx:
      break;
  }
}

// oneDNN takes its ceiling once per process, before it looks at the machine.
dnnl::engine& engine() {
  static dnnl::engine cpu = [] {
    limit_isa();
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return cpu;
}

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
constexpr auto kF32 = dnnl::memory::data_type::f32;

dnnl::memory::data_type data_type(DType type) {
  ESPALIER_CHECK(type == DType::kF32 || type == DType::kBf16);
  return type == DType::kF32 ? kF32 : dnnl::memory::data_type::bf16;
}

Tag activation_tag(std::size_t rank, DenseLayout layout) {
  const bool last = layout == DenseLayout::kChannelsLast;
  switch (rank) {
    case 3:
      return last ? Tag::acb : Tag::abc;
    case 4:
      return last ? Tag::acdb : Tag::abcd;
    case 5:
      return last ? Tag::acdeb : Tag::abcde;
    default:
      return Tag::undef;
  }
}

Tag row_major_tag(std::size_t rank) {
  constexpr std::array kTags = {Tag::undef, Tag::a, Tag::ab, Tag::abc, Tag::abcd, Tag::abcde, Tag::abcdef};
  return rank < kTags.size() ? kTags[rank] : Tag::undef;
}

Desc activation(const Shape& shape, DenseLayout layout, DType type) {
  return Desc(Dims(shape.begin(), shape.end()), data_type(type), activation_tag(shape.size(), layout));
}

void append_eltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha, float beta) {
#if DNNL_VERSION_MAJOR >= 3
  ops.append_eltwise(algorithm, alpha, beta);
#else
  ops.append_eltwise(1.0F, algorithm, alpha, beta);
#endif
}

void append_activation(dnnl::post_ops& ops, const Fusion& fusion) {
  using dnnl::algorithm;
  switch (fusion.activation) {
    case Activation::kNone:
      return;
    case Activation::kRelu:
      return append_eltwise(ops, algorithm::eltwise_relu, 0, 0);
    case Activation::kClip:
      return append_eltwise(ops, algorithm::eltwise_clip, fusion.low, fusion.high);
    case Activation::kHardSwish:
#if DNNL_VERSION_MAJOR >= 3
      return append_eltwise(ops, algorithm::eltwise_hardswish, 1.0F / 6, 0.5F);
#else
      return append_eltwise(ops, algorithm::eltwise_hardswish, 0, 0);
#endif
    case Activation::kSigmoid:
      return append_eltwise(ops, algorithm::eltwise_logistic, 0, 0);
    case Activation::kTanh:
      return append_eltwise(ops, algorithm::eltwise_tanh, 0, 0);
    case Activation::kGelu:
      return append_eltwise(ops, algorithm::eltwise_gelu_erf, 0, 0);
    case Activation::kGeluTanh:
      return append_eltwise(ops, algorithm::eltwise_gelu_tanh, 0, 0);
    case Activation::kLeakyRelu:
      return append_eltwise(ops, algorithm::eltwise_relu, fusion.low, 0);
    case Activation::kSilu:
      return append_eltwise(ops, algorithm::eltwise_swish, 1, 0);
  }
}

dnnl::primitive_attr make_attributes(const DenseEpilogue& epilogue, const Desc& y) {
  dnnl::post_ops ops;
  if (epilogue.residual == DenseEpilogue::Residual::kInPlace) ops.append_sum(1.0F);
  if (epilogue.residual == DenseEpilogue::Residual::kSeparate) ops.append_binary(dnnl::algorithm::binary_add, y);
  append_activation(ops, epilogue.fusion);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(ops);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// One block of packed weights, kept with what describes it.
struct Packed {
  dnnl::memory memory;
};

}  // namespace

bool dense_available() {
  static_cast<void>(engine());
  return active_isa() >= Isa::kAvx2;
}

bool dense_offers_bf16() { return dense_available() && active_features().avx512bf16; }

struct DensePrimitive::Impl {
  dnnl::primitive primitive;
  std::string kernel;
  Desc x, y, scratch;
  std::shared_ptr<const Packed> weights, bias;
  DenseEpilogue::Residual residual = DenseEpilogue::Residual::kNone;
  int x_argument = DNNL_ARG_SRC, y_argument = DNNL_ARG_DST;
};

namespace {

// The caller's tensor in the layout that the primitive asks for.
std::shared_ptr<const Packed> pack(const Tensor& tensor, const Desc& given, const Desc& wanted) {
  auto packed = std::make_shared<Packed>();
  packed->memory = dnnl::memory(wanted, engine());  // oneDNN's own aligned bytes
  dnnl::memory source(given, engine(), const_cast<void*>(tensor.raw()));
  dnnl::stream stream(engine());
  dnnl::reorder(source, packed->memory).execute(stream, source, packed->memory);
  stream.wait();
  return packed;
}

std::shared_ptr<const Packed> pack_or_share(const Tensor& tensor, const Desc& given, const Desc& wanted,
                                            const std::shared_ptr<const Packed>& sibling) {
  if (sibling && sibling->memory.get_desc() == wanted) return sibling;
  return pack(tensor, given, wanted);
}

template <typename PrimitiveDesc>
void describe(DensePrimitive::Impl& impl, const PrimitiveDesc& pd) {
  impl.kernel = std::string("onednn:") + pd.impl_info_str();
  impl.scratch = pd.scratchpad_desc();
}

tl::unexpected<Error> refused(std::string_view what, const dnnl::error& error) {
  return fail(ErrorCode::kUnsupported, "{}: oneDNN does not offer it ({})", what, error.what());
}

dnnl::convolution_forward::primitive_desc convolution_desc(const DenseConvSpec& spec, const Desc& weights,
                                                           const Desc& bias, const dnnl::primitive_attr& attributes) {
  const Desc x = activation(spec.x, spec.x_layout, spec.x_type), y = activation(spec.y, spec.y_layout, spec.y_type);
  const auto spatial = static_cast<std::ptrdiff_t>(spec.x.size() - 2);
  const Dims before(spec.pads.begin(), spec.pads.begin() + spatial),
      after(spec.pads.begin() + spatial, spec.pads.end());
  Dims dilations(spec.dilations.begin(), spec.dilations.end());
  for (auto& dilation : dilations) --dilation;  // oneDNN counts the gap
  const Dims strides(spec.strides.begin(), spec.strides.end());
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
  return {engine(), kInference, kDirect, x, weights, bias, y, strides, dilations, before, after, attributes};
#else
  return {{kInference, kDirect, x, weights, bias, y, strides, dilations, before, after}, attributes, engine()};
#endif
}

dnnl::matmul::primitive_desc matmul_desc(const Desc& x, const Desc& weights, const Desc& bias, const Desc& y,
                                         const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine(), x, weights, bias, y, attributes};
#else
  return bias ? dnnl::matmul::primitive_desc({x, weights, bias, y}, attributes, engine())
              : dnnl::matmul::primitive_desc({x, weights, y}, attributes, engine());
#endif
}

dnnl::pooling_forward::primitive_desc pooling_desc(const DensePoolSpec& spec, const dnnl::primitive_attr& attributes) {
  using dnnl::algorithm;
  algorithm kind = algorithm::pooling_max;
  if (spec.kind == DensePoolSpec::Kind::kAverageWithPadding) kind = algorithm::pooling_avg_include_padding;
  if (spec.kind == DensePoolSpec::Kind::kAverageWithoutPadding) kind = algorithm::pooling_avg_exclude_padding;
  const Desc x = activation(spec.x, spec.layout, spec.type), y = activation(spec.y, spec.layout, spec.type);
  const auto spatial = static_cast<std::ptrdiff_t>(spec.kernel.size());
  const Dims before(spec.pads.begin(), spec.pads.begin() + spatial),
      after(spec.pads.begin() + spatial, spec.pads.end());
  const Dims strides(spec.strides.begin(), spec.strides.end()), kernel(spec.kernel.begin(), spec.kernel.end());
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
  Dims dilations(spec.dilations.begin(), spec.dilations.end());
  for (auto& dilation : dilations) --dilation;
  return {engine(), kInference, kind, x, y, strides, kernel, dilations, before, after, attributes};
#else
  return {{kInference, kind, x, y, strides, kernel, before, after}, attributes, engine()};
#endif
}

}  // namespace

Result<DensePrimitive> DensePrimitive::convolution(const DenseConvSpec& spec, const Tensor& weights, const Tensor& bias,
                                                   const DensePrimitive* sibling) try {
  Dims w_dims(spec.w.begin(), spec.w.end());
  if (spec.groups > 1) {
    w_dims[0] /= spec.groups;
    w_dims.insert(w_dims.begin(), spec.groups);
  }
  const Desc w_any(w_dims, data_type(spec.x_type), Tag::any), w_given(w_dims, kF32, row_major_tag(w_dims.size()));
  const Desc b = bias.defined() ? Desc({spec.w[0]}, kF32, Tag::a) : Desc();
  const Desc y = activation(spec.y, spec.y_layout, spec.y_type);
  const auto pd = convolution_desc(spec, w_any, b, make_attributes(spec.epilogue, y));

  auto impl = std::make_shared<Impl>();
  describe(*impl, pd);
  impl->primitive = dnnl::convolution_forward(pd);
  impl->x = pd.src_desc();
  impl->y = pd.dst_desc();
  impl->residual = spec.epilogue.residual;
  impl->weights = pack_or_share(weights, w_given, pd.weights_desc(), sibling ? sibling->impl_->weights : nullptr);
  if (bias.defined()) impl->bias = pack_or_share(bias, b, b, sibling ? sibling->impl_->bias : nullptr);
  return DensePrimitive(std::move(impl));
} catch (const dnnl::error& error) {
  return refused("convolution", error);
}

Result<DensePrimitive> DensePrimitive::matmul(const DenseMatmulSpec& spec, const Tensor& weights, const Tensor& bias,
                                              const DensePrimitive* sibling) try {
  const Desc x({spec.m, spec.k}, data_type(spec.x_type), Tag::ab), y({spec.m, spec.n}, data_type(spec.y_type), Tag::ab);
  const Desc w_any({spec.k, spec.n}, data_type(spec.x_type), Tag::any);
  const Desc w_given({spec.k, spec.n}, kF32, spec.w_transposed ? Tag::ba : Tag::ab);
  const Desc b = bias.defined() ? Desc({1, spec.n}, kF32, Tag::ab) : Desc();
  const auto pd = matmul_desc(x, w_any, b, y, make_attributes(spec.epilogue, y));

  auto impl = std::make_shared<Impl>();
  describe(*impl, pd);
  impl->primitive = dnnl::matmul(pd);
  impl->x = x;
  impl->y = y;
  impl->residual = spec.epilogue.residual;
  impl->weights = pack_or_share(weights, w_given, pd.weights_desc(), sibling ? sibling->impl_->weights : nullptr);
  if (bias.defined()) impl->bias = pack_or_share(bias, b, b, sibling ? sibling->impl_->bias : nullptr);
  return DensePrimitive(std::move(impl));
} catch (const dnnl::error& error) {
  return refused("matrix product", error);
}

Result<DensePrimitive> DensePrimitive::pooling(const DensePoolSpec& spec) try {
  for (const std::int64_t dilation : spec.dilations)
    if (dilation != 1) return fail(ErrorCode::kUnsupported, "pooling: dilations are not prepared");
  const auto pd = pooling_desc(spec, make_attributes({}, {}));
  auto impl = std::make_shared<Impl>();
  describe(*impl, pd);
  impl->primitive = dnnl::pooling_forward(pd);
  impl->x = pd.src_desc();
  impl->y = pd.dst_desc();
  return DensePrimitive(std::move(impl));
} catch (const dnnl::error& error) {
  return refused("pooling", error);
}

Result<DensePrimitive> DensePrimitive::reorder(const Shape& shape, DenseForm from, DenseForm to) try {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const Desc x = activation(shape, from.layout, from.type), y = activation(shape, to.layout, to.type);
  const dnnl::reorder::primitive_desc pd(engine(), x, engine(), y, attributes);
  auto impl = std::make_shared<Impl>();
  describe(*impl, pd);
  impl->primitive = dnnl::reorder(pd);
  impl->x = x;
  impl->y = y;
  impl->x_argument = DNNL_ARG_FROM;
  impl->y_argument = DNNL_ARG_TO;
  return DensePrimitive(std::move(impl));
} catch (const dnnl::error& error) {
  return refused("change of layout", error);
}

const std::string& DensePrimitive::kernel() const { return impl_->kernel; }
std::size_t DensePrimitive::scratch_bytes() const { return impl_->scratch.get_size(); }
std::size_t DensePrimitive::weight_bytes() const {
  return (impl_->weights ? impl_->weights->memory.get_desc().get_size() : 0) +
         (impl_->bias ? impl_->bias->memory.get_desc().get_size() : 0);
}

struct DenseBinding::Impl {
  std::shared_ptr<const DensePrimitive::Impl> primitive;
  dnnl::stream stream;
  dnnl::memory x, y, residual, scratch;
  std::array<dnnl_exec_arg_t, 6> arguments{};
  int count = 0;

  void add(int argument, const dnnl::memory& memory) {
    arguments[static_cast<std::size_t>(count++)] = {argument, memory.get()};
  }
};

DenseBinding::DenseBinding(const DensePrimitive& primitive) : impl_(std::make_unique<Impl>()) {
  const DensePrimitive::Impl& source = *primitive.impl_;
  impl_->primitive = primitive.impl_;
  impl_->stream = dnnl::stream(engine());
  impl_->x = dnnl::memory(source.x, engine(), nullptr);
  impl_->y = dnnl::memory(source.y, engine(), nullptr);
  impl_->scratch = dnnl::memory(source.scratch, engine(), nullptr);
  impl_->add(source.x_argument, impl_->x);
  impl_->add(source.y_argument, impl_->y);
  impl_->add(DNNL_ARG_SCRATCHPAD, impl_->scratch);
  if (source.weights) impl_->add(DNNL_ARG_WEIGHTS, source.weights->memory);
  if (source.bias) impl_->add(DNNL_ARG_BIAS, source.bias->memory);
  if (source.residual == DenseEpilogue::Residual::kSeparate) {
    impl_->residual = dnnl::memory(source.y, engine(), nullptr);
    impl_->add(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, impl_->residual);
  }
}

Status DenseBinding::run(const void* x, const void* residual, void* y, std::byte* scratch) {
  Impl& self = *impl_;
  dnnl_memory_set_data_handle(self.x.get(), const_cast<void*>(x));
  dnnl_memory_set_data_handle(self.y.get(), y);
  dnnl_memory_set_data_handle(self.scratch.get(), scratch);
  if (self.residual) dnnl_memory_set_data_handle(self.residual.get(), const_cast<void*>(residual));
  const dnnl_status_t status =
      dnnl_primitive_execute(self.primitive->primitive.get(), self.stream.get(), self.count, self.arguments.data());
  if (status != dnnl_success)
    return fail(ErrorCode::kUnsupported, "{}: oneDNN refused to run (status {})", self.primitive->kernel,
                static_cast<int>(status));
  return {};
}

#else  // without oneDNN

bool dense_available() { return false; }
bool dense_offers_bf16() { return false; }

struct DensePrimitive::Impl {
  std::string kernel;
};
struct DenseBinding::Impl {};

namespace {
tl::unexpected<Error> absent() { return fail(ErrorCode::kUnsupported, "this build has no oneDNN"); }
}  // namespace

Result<DensePrimitive> DensePrimitive::convolution(const DenseConvSpec&, const Tensor&, const Tensor&,
                                                   const DensePrimitive*) {
  return absent();
}
Result<DensePrimitive> DensePrimitive::matmul(const DenseMatmulSpec&, const Tensor&, const Tensor&,
                                              const DensePrimitive*) {
  return absent();
}
Result<DensePrimitive> DensePrimitive::pooling(const DensePoolSpec&) { return absent(); }
Result<DensePrimitive> DensePrimitive::reorder(const Shape&, DenseForm, DenseForm) { return absent(); }
const std::string& DensePrimitive::kernel() const { return impl_->kernel; }
std::size_t DensePrimitive::scratch_bytes() const { return 0; }
std::size_t DensePrimitive::weight_bytes() const { return 0; }
DenseBinding::DenseBinding(const DensePrimitive&) {}
Status DenseBinding::run(const void*, const void*, void*, std::byte*) { return absent(); }

#endif

DenseBinding::DenseBinding(DenseBinding&&) noexcept = default;
DenseBinding& DenseBinding::operator=(DenseBinding&&) noexcept = default;
DenseBinding::~DenseBinding() = default;

}  // namespace espalier::ops
