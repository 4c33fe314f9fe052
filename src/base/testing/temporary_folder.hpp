// A folder of its own for one test, removed at the end: tests run in several processes at once and must not share
// files.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "base/check.hpp"

namespace espalier {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "espalier_test_XXXXXX").string();
    ESPALIER_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace espalier
