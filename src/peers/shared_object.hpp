// Opening shared objects by name, for good: peers keep threads that must not lose their code.
#pragma once

#include <string>
#include <vector>

namespace espalier::peers {

// nullptr when none of the names opens.
void* open_first(const std::vector<std::string>& names);
void* symbol(void* object, const char* name);
// Where a plug-in may lie: $ESPALIER_PEER_PATH, then `espalier/` beside this library and `../lib/espalier` beside the
// program.
std::vector<std::string> plugin_paths(const std::string& file);

}  // namespace espalier::peers
