// The C interface between the library and a peer's plug-in, a shared object that links the peer. Versioned by
// kPeerPluginVersion; everything is plain data, so that plug-in and library may be built by different compilers.
#pragma once

#include <cstdint>

extern "C" {

enum EspalierPeerType {
  kEspalierPeerF32 = 0,   // W, X and Y
  kEspalierPeerBf16 = 1,  // W and X; Y is f32
  kEspalierPeerInt8 = 2,  // W is i8, X is u8, Y is i32
};

struct EspalierPeerProblem {
  std::int64_t m, k, n;
  int type;       // EspalierPeerType
  const void* w;  // row-major and contiguous, like X and Y
  const void* x;
  void* y;
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
inline constexpr int kPeerPluginVersion = 3;
inline constexpr char kPeerPluginEntry[] = "espalier_peer_plugin";
}  // namespace espalier::peers
