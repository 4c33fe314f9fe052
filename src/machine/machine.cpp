#include <espalier/executor.hpp>
#include <espalier/machine.hpp>
#include <map>
#include <mutex>

#include "machine/ceilings_cache.hpp"

namespace espalier {
namespace {

Machine cached_or_measured(Isa isa) {
  Machine machine;
  machine.isa = isa;
  machine.features = feature_names(machine_features());
  machine.cores = available_cores();
  machine.caches = cache_sizes();
  const std::string directory = cache_directory();
  const std::string path = directory + "/ceilings_" + std::string(to_string(isa)) + ".json";
  const std::string key = ceilings_key(machine);
  if (!directory.empty()) {
    if (const auto known = read_ceilings(path, key)) {
      machine.ceilings = *known;
      return machine;
    }
  }
  machine = measure_machine(isa);
  if (!directory.empty()) write_ceilings(path, key, machine.ceilings);
  return machine;
}

}  // namespace

const Machine& this_machine() {
  static std::mutex mutex;
  static std::map<Isa, Machine> machines;
  const std::lock_guard lock(mutex);
  const Isa isa = active_isa();
  const auto found = machines.find(isa);
  return found != machines.end() ? found->second : machines.emplace(isa, cached_or_measured(isa)).first->second;
}

}  // namespace espalier
