#include "temporary_folder.hpp"

#include <cstdlib>
#include <filesystem>

namespace espalier::cli {

Result<std::unique_ptr<TemporaryFolder>> TemporaryFolder::make() {
  std::error_code problem;
  std::filesystem::path base = std::filesystem::temp_directory_path(problem);
  std::string name = (base / "espalier-XXXXXX").string();
  if (problem || mkdtemp(name.data()) == nullptr)
    return refuse(ErrorCode::kIo, "cannot make a folder in {}", base.string());
  return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(name));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace espalier::cli
