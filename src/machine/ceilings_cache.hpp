// Measured ceilings in a file, so that a machine is measured once and not by every process.
#pragma once

#include <espalier/machine.hpp>
#include <optional>
#include <string>

namespace espalier {

// Directory for caches: $XDG_CACHE_HOME/espalier, else $HOME/.cache/espalier; empty when neither variable is set.
std::string cache_directory();

// What the ceilings hold for: features, caches and ISA in one line.
std::string ceilings_key(const Machine& machine);

// nullopt when the file is absent, unreadable, not JSON, for another key, or holds rates that cannot be.
std::optional<Ceilings> read_ceilings(const std::string& path, const std::string& key);
// Best effort: a cache that cannot be written is not an error.
void write_ceilings(const std::string& path, const std::string& key, const Ceilings& ceilings);

}  // namespace espalier
