// Plug-in: oneDNN 2.6 and 3.x, f32, bf16 with f32 results, and i8 weights with u8 X and i32 results (W prepacked only:
// what oneDNN prepacks must be i8). Variants: sgemm (f32 only, nothing prepacked); matmul with W in the layout that
// oneDNN likes best, reordered once, and X as tokens; matmul with X prepacked. Neither is charged for bringing X into
// its layout, nor the first for bringing Y back: generous peers.
#include <omp.h>

#include <dnnl.hpp>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "peers/plugin.hpp"

namespace {

using dnnl::memory;
using Type = memory::data_type;
using Tag = memory::format_tag;

enum class Prepack { kW, kX };

struct State {
  EspalierPeerProblem problem;
  std::vector<std::uint8_t> x_tokens;   // n x k, and
  std::vector<std::uint32_t> y_tokens;  // n x m, where W is prepacked: f32 or i32
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::matmul primitive;
  memory a, b, y;
  std::unordered_map<int, memory> args;
};

struct Types {
  Type w, x, y;
};
Types types_of(const EspalierPeerProblem& p) {
  if (p.type == kEspalierPeerInt8) return {Type::s8, Type::u8, Type::s32};
  const Type inputs = p.type == kEspalierPeerBf16 ? Type::bf16 : Type::f32;
  return {inputs, inputs, Type::f32};
}

void set_isa_ceiling(const std::string& isa) {
  if (isa == "avx2") dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
  if (isa == "scalar") dnnl::set_max_cpu_isa(dnnl::cpu_isa::sse41);
  if (isa == "avx512") dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core);
  if (isa == "vnni") dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_bf16);
}

dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const memory::desc& a, const memory::desc& b,
                                      const memory::desc& y) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, a, b, y};
#else
  return {dnnl::matmul::desc(a, b, y), engine};
#endif
}

template <typename T>
void transpose(const void* from, void* to, std::int64_t rows, std::int64_t cols) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c)
      static_cast<T*>(to)[c * rows + r] = static_cast<const T*>(from)[r * cols + c];
}

memory reordered(State& state, memory from, const memory::desc& to) {
  if (from.get_desc() == to) return from;
  memory target(to, state.engine);
  dnnl::reorder(from, target).execute(state.stream, from, target);
  state.stream.wait();
  return target;
}

// Without VNNI oneDNN multiplies u8 by i8 in vpmaddubsw, which saturates: fast, and wrong for weights beyond 7 bits.
bool is_exact(const EspalierPeerProblem& p) {
  const std::string isa = p.isa;
  return p.type != kEspalierPeerInt8 || isa == "vnni" || isa == "amx";
}

// oneDNN prepacks its second operand: W, as Y^T = X^T W^T, or X, as Y = W X.
void* prepare(const EspalierPeerProblem* p, Prepack prepack) {
  if (!is_exact(*p)) return nullptr;
  try {
    set_isa_ceiling(p->isa);
    omp_set_num_threads(p->threads);
    auto state = std::make_unique<State>();
    state->problem = *p;
    void* a = const_cast<void*>(p->w);
    void* b = const_cast<void*>(p->x);
    void* y = p->y;
    const Types types = types_of(*p);
    Type a_type = types.w, b_type = types.x;
    memory::dims a_dims{p->m, p->k}, b_dims{p->k, p->n}, y_dims{p->m, p->n};
    Tag b_tag = Tag::ab;
    if (prepack == Prepack::kW) {
      state->x_tokens.resize(static_cast<std::size_t>(p->n * p->k) * memory::data_type_size(types.x));
      state->y_tokens.resize(static_cast<std::size_t>(p->n * p->m));
      if (p->type == kEspalierPeerInt8)
        transpose<std::uint8_t>(p->x, state->x_tokens.data(), p->k, p->n);
      else if (p->type == kEspalierPeerBf16)
        transpose<std::uint16_t>(p->x, state->x_tokens.data(), p->k, p->n);
      else
        transpose<float>(p->x, state->x_tokens.data(), p->k, p->n);
      std::swap(a_type, b_type);
      a_dims = {p->n, p->k};
      b_dims = {p->k, p->m};
      y_dims = {p->n, p->m};
      a = state->x_tokens.data();
      b = const_cast<void*>(p->w);
      y = state->y_tokens.data();
      b_tag = Tag::ba;  // W^T as it lies
    }
    const memory::desc a_desc(a_dims, a_type, Tag::ab), y_desc(y_dims, types.y, Tag::ab);
    const auto pd = describe(state->engine, a_desc, memory::desc(b_dims, b_type, Tag::any), y_desc);
    state->primitive = dnnl::matmul(pd);
    state->a = memory(a_desc, state->engine, a);
    state->b = reordered(*state, memory(memory::desc(b_dims, b_type, b_tag), state->engine, b), pd.weights_desc());
    state->y = memory(y_desc, state->engine, y);
    state->args = {{DNNL_ARG_SRC, state->a}, {DNNL_ARG_WEIGHTS, state->b}, {DNNL_ARG_DST, state->y}};
    return state.release();
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

void collect(void* prepared) {
  const auto& state = *static_cast<State*>(prepared);
  const EspalierPeerProblem& p = state.problem;
  if (state.y_tokens.empty()) return;
  transpose<std::uint32_t>(state.y_tokens.data(), p.y, p.n, p.m);
}

void run(void* prepared) {
  auto& state = *static_cast<State*>(prepared);
  omp_set_num_threads(state.problem.threads);
  state.primitive.execute(state.stream, state.args);
  state.stream.wait();
}

void release(void* prepared) { delete static_cast<State*>(prepared); }

void* prepare_w(const EspalierPeerProblem* p) { return prepare(p, Prepack::kW); }
void* prepare_x(const EspalierPeerProblem* p) {
  return p->type == kEspalierPeerInt8 ? nullptr : prepare(p, Prepack::kX);
}

void* prepare_sgemm(const EspalierPeerProblem* p) {
  if (p->type != kEspalierPeerF32) return nullptr;
  set_isa_ceiling(p->isa);
  return new EspalierPeerProblem(*p);
}
void run_sgemm(void* prepared) {
  const auto& p = *static_cast<EspalierPeerProblem*>(prepared);
  omp_set_num_threads(p.threads);
  dnnl_sgemm('N', 'N', p.m, p.n, p.k, 1.0F, static_cast<const float*>(p.w), p.k, static_cast<const float*>(p.x), p.n,
             0.0F, static_cast<float*>(p.y), p.n);
}
void release_sgemm(void* prepared) { delete static_cast<EspalierPeerProblem*>(prepared); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const EspalierPeerPlugin* espalier_peer_plugin() {
  static const EspalierPeerVariant variants[] = {{"onednn_sgemm", prepare_sgemm, run_sgemm, nullptr, release_sgemm},
                                                 {"onednn_w_prepacked", prepare_w, run, collect, release},
                                                 {"onednn_x_prepacked", prepare_x, run, collect, release}};
  static const std::string version = [] {
    const dnnl_version_t* const v = dnnl_version();
    return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
  }();
  static const EspalierPeerPlugin plugin{espalier::peers::kPeerPluginVersion, version.c_str(), variants,
                                         static_cast<int>(std::size(variants))};
  return &plugin;
}
