// Reads machine descriptions: those compiled in from machines/*.json, or a file of the same form.
#include <espalier/ipu.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/fail.hpp"
#include "ipu_machine_files.hpp"
#include "targets/ipu/vertex_cycles.hpp"

namespace espalier::ipu {
namespace {

using Json = nlohmann::json;

// A number at `path` ("macs_per_cycle/f16_f16") that is at least `low`.
template <typename T>
Status read(const Json& json, const std::string& path, T low, T& target) {
  const Json::json_pointer pointer("/" + path);
  if (!json.contains(pointer) || !json.at(pointer).is_number() || json.at(pointer).get<double>() < double(low) ||
      json.at(pointer).get<double>() > 1e15)
    return fail(ErrorCode::kInvalidData, "expected a number of at least {} as {}", low, path);
  target = json.at(pointer).get<T>();
  return {};
}

Result<Machine> parse(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return fail(ErrorCode::kInvalidData, "expected a JSON object");
  if (!json.contains("name") || !json["name"].is_string())
    return fail(ErrorCode::kInvalidData, "expected a text as name");
  Machine machine;
  machine.name = json["name"].get<std::string>();
  ESPALIER_TRY(read<std::int64_t>(json, "tiles", 2, machine.tiles));
  if (machine.tiles > kMaxTiles)
    return fail(ErrorCode::kInvalidData, "expected at most {} tiles, found {}", kMaxTiles, machine.tiles);
  ESPALIER_TRY(read<std::int64_t>(json, "workers", 1, machine.workers));
  if (machine.workers != kWorkers)
    return fail(ErrorCode::kInvalidData, "expected {} workers, which the vertices' cycle counts are for, found {}",
                kWorkers, machine.workers);
  ESPALIER_TRY(read<std::int64_t>(json, "tile_bytes", 1024, machine.tile_bytes));
  ESPALIER_TRY(read<double>(json, "clock_hz", 1, machine.clock_hz));
  ESPALIER_TRY(read<std::int64_t>(json, "exchange_bytes_per_cycle", 1, machine.exchange_bytes_per_cycle));
  ESPALIER_TRY(read<std::int64_t>(json, "tiles_per_bus", 1, machine.tiles_per_bus));
  ESPALIER_TRY(read<std::int64_t>(json, "macs_per_cycle/f16_f16", 1, machine.macs_f16_f16));
  ESPALIER_TRY(read<std::int64_t>(json, "macs_per_cycle/f16_f32", 1, machine.macs_f16_f32));
  ESPALIER_TRY(read<std::int64_t>(json, "macs_per_cycle/f32_f32", 1, machine.macs_f32_f32));
  return machine;
}

}  // namespace

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const char* const text : kMachineFiles) names.push_back(Json::parse(text)["name"].get<std::string>());
  return names;
}

Result<Machine> find_machine(std::string_view name) {
  for (const char* const text : kMachineFiles)
    if (Json::parse(text)["name"].get<std::string>() == name) return parse(text);
  if (!name.ends_with(".json"))
    return fail(ErrorCode::kNotFound, "machine: expected one of {} or a .json file, found '{}'",
                fmt::join(machine_names(), ", "), name);
  const std::string path(name);
  std::ifstream file(path);
  if (!file) return fail(ErrorCode::kIo, "{}: cannot be read", path);
  std::ostringstream text;
  text << file.rdbuf();
  auto machine = parse(text.str());
  if (!machine) return fail(machine.error().code, "{}: {}", path, machine.error().message);
  return machine;
}

}  // namespace espalier::ipu
