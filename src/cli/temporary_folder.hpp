// A folder that is removed with everything in it when the object goes.
#pragma once

#include <memory>
#include <string>

#include "context.hpp"

namespace espalier::cli {

class TemporaryFolder {
 public:
  // Below $TMPDIR or /tmp. Error: kIo.
  static Result<std::unique_ptr<TemporaryFolder>> make();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace espalier::cli
