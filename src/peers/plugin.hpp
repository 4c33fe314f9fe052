// The C interface between the library and a peer's plug-in, a shared object that links the peer. Versioned by
// kPeerPluginVersion; everything is plain data, so that plug-in and library may be built by different compilers.
#pragma once

#include <cstdint>

extern "C" {

struct EspalierPeerProblem {
  std::int64_t m, k, n;
  int is_bf16;    // W and X are bf16, else f32; Y is f32
  const void* w;  // row-major and contiguous, like X and Y
  const void* x;
  float* y;
  int threads;
  const char* isa;  // "scalar", "avx2", "avx512", "vnni", "amx": a ceiling
};

struct EspalierPeerVariant {
  const char* name;
  // nullptr when the peer refuses the problem. `run` computes once; `collect` (or nullptr) brings the last result to Y
  // where the peer keeps it elsewhere, untimed; `release` frees what `prepare` made.
  void* (*prepare)(const EspalierPeerProblem* problem);
  void (*run)(void* prepared);
  void (*collect)(void* prepared);
  void (*release)(void* prepared);
};

struct EspalierPeerPlugin {
  int interface_version;
  const char* version;  // of the peer
  const EspalierPeerVariant* variants;
  int variant_count;
};

// The one symbol of a plug-in.
using EspalierPeerEntry = const EspalierPeerPlugin* (*)();
}

namespace espalier::peers {
inline constexpr int kPeerPluginVersion = 2;
inline constexpr char kPeerPluginEntry[] = "espalier_peer_plugin";
}  // namespace espalier::peers
