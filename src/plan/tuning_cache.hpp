// Times of trials, remembered between compilations under the user's cache directory.
//
// An entry is one option of one layer. Its key names everything that the time depends on: features and caches of the
// processor, threads, the kernel, and the layer's operator, shape, type, fusion and pattern statistics; layers that are
// alike in one network are told apart by their order. A file that cannot be read or does not make sense counts as
// absent, and one that cannot be written is not missed.
#pragma once

#include <espalier/graph.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/layer_options.hpp"

namespace espalier::plan {

class TuningCache {
 public:
  // `directory` as CompileOptions::cache_dir: absent: the user's; empty: none.
  static TuningCache open(const std::optional<std::string>& directory);

  // Fills timed_ms of every option; false (and nothing filled) when any is unknown.
  bool recall(const Graph& bound, const PlanSettings& settings, std::vector<LayerOptions>& layers) const;
  // Keeps the times of all options and writes the file.
  void remember(const Graph& bound, const PlanSettings& settings, const std::vector<LayerOptions>& layers);

 private:
  std::string path_;  // empty: none
  std::map<std::string, double> times_;
};

}  // namespace espalier::plan
