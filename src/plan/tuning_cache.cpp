// The file: one JSON object, key to milliseconds; for whole networks, key to the number of an option.
#include "plan/tuning_cache.hpp"

#include <cmath>
#include <espalier/cpu.hpp>
#include <espalier/files.hpp>
#include <espalier/version.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/fail.hpp"
#include "machine/ceilings_cache.hpp"
#include "plan/plan_file.hpp"

namespace espalier::plan {
namespace {

using Json = nlohmann::json;
constexpr std::uintmax_t kMaxFileBytes = 16U << 20;
constexpr std::size_t kMaxEntries = 50'000;

std::string machine_key(const PlanSettings& settings) {
  std::string key = fmt::format("{};{};{};", ESPALIER_VERSION_STRING, to_string(settings.isa), settings.team_threads());
  for (const std::string& feature : feature_names(machine_features())) key += feature + ",";
  const CacheSizes& caches = cache_sizes();
  return key + fmt::format(";{};{};{}", caches.l1d, caches.l2, caches.l3);
}

std::string layer_key(const Graph& bound, const PlanSettings& settings, const LayerOptions& layer) {
  const Node& node = bound.nodes[static_cast<std::size_t>(layer.node)];
  std::string key =
      fmt::format("{};{};{};{};{}", node.op, to_string(settings.dtype), espalier::to_string(layer.pattern.pattern),
                  std::round(layer.pattern.density * 100), static_cast<int>(node.fusion.activation));
  for (const ValueId input : node.inputs) {
    const auto shape = input == kNoValue ? std::nullopt : static_shape(bound.value(input).shape);
    key += ";" + (shape ? espalier::to_string(*shape) : std::string("?"));
  }
  for (const char* attribute : {"strides", "dilations", "pads"})
    for (const std::int64_t value : node.ints_or(attribute, {})) key += fmt::format(",{}", value);
  return key + fmt::format(";{};{}", node.int_or("group", 1), node.fusion.residual != kNoValue);
}

// One key per option of each layer, in order.
std::vector<std::vector<std::string>> option_keys(const Graph& bound, const PlanSettings& settings,
                                                  const std::vector<LayerOptions>& layers) {
  const std::string machine = machine_key(settings);
  std::map<std::string, int> seen;
  std::vector<std::vector<std::string>> keys;
  for (const LayerOptions& layer : layers) {
    const std::string base = layer_key(bound, settings, layer);
    const int ordinal = seen[base]++;
    std::vector<std::string>& of_layer = keys.emplace_back();
    for (const Option& option : layer.options) {
      const std::string text = fmt::format("{}|{}|{}|{}", machine, base, ordinal, option.kernel);
      of_layer.push_back(hash_bytes(text.data(), text.size()));
    }
  }
  return keys;
}

// Of one decision about the network with these options.
std::string network_key(const std::vector<std::vector<std::string>>& keys, std::string_view decision) {
  std::string text(decision);
  for (const auto& of_layer : keys)
    for (const std::string& key : of_layer) text += key;
  return hash_bytes(text.data(), text.size());
}
std::string layer_decision(std::size_t layer) { return fmt::format("layer {} ", layer); }
constexpr std::string_view kArenaDecision = "arena ";

}  // namespace

TuningCache TuningCache::open(const std::optional<std::string>& directory) {
  TuningCache cache;
  const std::string folder = directory ? *directory : cache_directory();
  if (folder.empty()) return cache;
  cache.path_ = (std::filesystem::path(folder) / "tuning.json").string();
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(cache.path_, error);
  if (error || bytes > kMaxFileBytes) return cache;
  std::ifstream file(cache.path_, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return cache;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_number()) continue;
    const double ms = value.get<double>();
    if (ms >= 0 && ms < 1e6) cache.times_[key] = ms;
  }
  return cache;
}

std::optional<NetworkChoice> TuningCache::recall(const Graph& bound, const PlanSettings& settings,
                                                 std::vector<LayerOptions>& layers) const {
  if (times_.empty()) return std::nullopt;
  const auto keys = option_keys(bound, settings, layers);
  for (const auto& of_layer : keys)
    for (const std::string& key : of_layer)
      if (times_.find(key) == times_.end()) return std::nullopt;
  NetworkChoice choice;
  const auto arena = times_.find(network_key(keys, kArenaDecision));
  if (arena == times_.end()) return std::nullopt;
  choice.arena = arena->second == 0 ? ArenaUse::kCompact : ArenaUse::kSpread;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto option = times_.find(network_key(keys, layer_decision(i)));
    if (option == times_.end() || option->second >= static_cast<double>(layers[i].options.size())) return std::nullopt;
    choice.chosen.push_back(static_cast<std::size_t>(option->second));
  }
  for (std::size_t i = 0; i < layers.size(); ++i)
    for (std::size_t o = 0; o < layers[i].options.size(); ++o) layers[i].options[o].timed_ms = times_.at(keys[i][o]);
  return choice;
}

void TuningCache::remember(const Graph& bound, const PlanSettings& settings, const std::vector<LayerOptions>& layers,
                           const NetworkChoice& choice) {
  if (path_.empty()) return;
  if (times_.size() > kMaxEntries) times_.clear();
  const auto keys = option_keys(bound, settings, layers);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (std::size_t o = 0; o < layers[i].options.size(); ++o)
      if (layers[i].options[o].timed_ms >= 0) times_[keys[i][o]] = layers[i].options[o].timed_ms;
    times_[network_key(keys, layer_decision(i))] = static_cast<double>(choice.chosen[i]);
  }
  times_[network_key(keys, kArenaDecision)] = choice.arena == ArenaUse::kCompact ? 0 : 1;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  const std::string text = Json(times_).dump();
  static_cast<void>(write_file(path_, text.data(), text.size()));
}

}  // namespace espalier::plan
