// Times of trials, remembered between compilations under the user's cache directory.
//
// An entry is one option of one layer. Its key names everything that the time depends on: features and caches of the
// processor, threads, the kernel, and the layer's operator, shape, type, fusion and pattern statistics; layers that are
// alike in one network are told apart by their order. The choice for a whole network is kept beside them, under the
// keys of all its options together. A file that cannot be read or does not make sense counts as absent, and one that
// cannot be written is not missed.
#pragma once

#include <espalier/graph.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/layer_options.hpp"

namespace espalier::plan {

// What trials of whole networks decided.
struct NetworkChoice {
  std::vector<std::size_t> chosen;  // option of each layer
  ArenaUse arena = ArenaUse::kCompact;
};

class TuningCache {
 public:
  // `directory` as CompileOptions::cache_dir: absent: the user's; empty: none.
  static TuningCache open(const std::optional<std::string>& directory);

  // Fills timed_ms of every option; nothing (and nothing filled) when anything is unknown.
  std::optional<NetworkChoice> recall(const Graph& bound, const PlanSettings& settings,
                                      std::vector<LayerOptions>& layers) const;
  // Keeps the times of all options and the choice, and writes the file.
  void remember(const Graph& bound, const PlanSettings& settings, const std::vector<LayerOptions>& layers,
                const NetworkChoice& choice);

 private:
  std::string path_;  // empty: none
  std::map<std::string, double> times_;
};

}  // namespace espalier::plan
