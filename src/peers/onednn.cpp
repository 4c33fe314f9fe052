// oneDNN through its plug-in (plugins/onednn.cpp).
#include <memory>
#include <string>

#include "peers/plugin.hpp"
#include "peers/product_peer.hpp"
#include "peers/shared_object.hpp"

namespace espalier::peers {

std::vector<ProductPeer> onednn(const DenseProblem& p) {
  static void* const object = open_first(plugin_paths("libespalier_peer_onednn.so"));
  if (object == nullptr) return {};
  const auto entry = reinterpret_cast<EspalierPeerEntry>(symbol(object, kPeerPluginEntry));
  const EspalierPeerPlugin* const plugin = entry != nullptr ? entry() : nullptr;
  if (plugin == nullptr || plugin->interface_version != kPeerPluginVersion) return {};
  if (p.type == DType::kF64 || p.type == DType::kF16) return {};  // its matmul has neither
  const std::string isa(to_string(p.isa));
  const int type =
      p.type == DType::kI8 ? kEspalierPeerInt8 : (p.type == DType::kBf16 ? kEspalierPeerBf16 : kEspalierPeerF32);
  const EspalierPeerProblem problem{p.m, p.k, p.n, type, p.w, p.x, p.y, p.threads, isa.c_str()};
  std::vector<ProductPeer> peers;
  for (int i = 0; i < plugin->variant_count; ++i) {
    const EspalierPeerVariant& variant = plugin->variants[i];
    const std::shared_ptr<void> prepared(variant.prepare(&problem), [&variant](void* state) {
      if (state != nullptr) variant.release(state);
    });
    if (prepared == nullptr) continue;
    ProductPeer peer{variant.name, plugin->version, [prepared, run = variant.run] { run(prepared.get()); }};
    if (variant.collect != nullptr) peer.collect = [prepared, collect = variant.collect] { collect(prepared.get()); };
    peers.push_back(std::move(peer));
  }
  return peers;
}

}  // namespace espalier::peers
