#include "machine/ceilings_cache.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/file_writer.hpp"
#include "base/mapped_file.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMostBytes = 1U << 16;
constexpr double kMostRate = 1e7;  // no core does 10 PFLOP/s

struct Field {
  const char* name;
  double Ceilings::*value;
};
constexpr Field kFields[] = {{"f32_gflops", &Ceilings::f32_gflops},
                             {"bf16_gflops", &Ceilings::bf16_gflops},
                             {"int8_gops", &Ceilings::int8_gops},
                             {"l2_gbs", &Ceilings::l2_gbs},
                             {"memory_gbs", &Ceilings::memory_gbs},
                             {"bf16_vector_gflops", &Ceilings::bf16_vector_gflops},
                             {"int8_vector_gops", &Ceilings::int8_vector_gops}};

}  // namespace

std::string cache_directory() {
  if (const char* const xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != '\0')
    return std::string(xdg) + "/espalier";
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::string(home) + "/.cache/espalier";
  return {};
}

std::string ceilings_key(const Machine& machine) {
  return fmt::format("2 {} {} l1d {} l2 {} l3 {}", to_string(machine.isa), fmt::join(machine.features, ","),
                     machine.caches.l1d, machine.caches.l2, machine.caches.l3);
}

std::optional<Ceilings> read_ceilings(const std::string& path, const std::string& key) {
  const auto file = MappedFile::open(path);
  if (!file || file->size() == 0 || file->size() > kMostBytes) return std::nullopt;
  const auto* const text = reinterpret_cast<const char*>(file->data());
  const auto json = nlohmann::json::parse(text, text + file->size(), nullptr, false);
  if (!json.is_object() || !json.contains("key") || json["key"] != key) return std::nullopt;
  Ceilings ceilings;
  for (const Field& field : kFields) {
    if (!json.contains(field.name) || !json[field.name].is_number()) return std::nullopt;
    const auto value = json[field.name].get<double>();
    if (!(value >= 0 && value < kMostRate)) return std::nullopt;
    ceilings.*field.value = value;
  }
  if (ceilings.f32_gflops <= 0 || ceilings.l2_gbs <= 0 || ceilings.memory_gbs <= 0) return std::nullopt;
  return ceilings;
}

void write_ceilings(const std::string& path, const std::string& key, const Ceilings& ceilings) {
  nlohmann::json json = {{"key", key}};
  for (const Field& field : kFields) json[field.name] = ceilings.*field.value;
  const std::string text = json.dump(1) + "\n";
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  auto writer = FileWriter::create(path);
  if (writer && writer->write(text.data(), text.size())) static_cast<void>(writer->commit().has_value());
}

}  // namespace espalier
