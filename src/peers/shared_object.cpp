#include "peers/shared_object.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace espalier::peers {

void* open_first(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (void* const object = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); object != nullptr) return object;
  return nullptr;
}

void* symbol(void* object, const char* name) { return dlsym(object, name); }

std::vector<std::string> plugin_paths(const std::string& file) {
  std::vector<std::string> paths;
  if (const char* const directory = std::getenv("ESPALIER_PEER_PATH"); directory != nullptr && *directory != '\0')
    paths.push_back(std::string(directory) + "/" + file);
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&plugin_paths), &info) != 0 && info.dli_fname != nullptr) {
    std::error_code ignored;
    const auto here = std::filesystem::canonical(info.dli_fname, ignored).parent_path();
    paths.push_back((here / "espalier" / file).string());
    paths.push_back((here / ".." / "lib" / "espalier" / file).string());
  }
  return paths;
}

}  // namespace espalier::peers
