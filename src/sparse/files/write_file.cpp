#include <espalier/files.hpp>

#include "base/fail.hpp"
#include "base/file_writer.hpp"

namespace espalier {

Status write_file(const std::string& path, const void* data, std::size_t bytes) {
  ESPALIER_ASSIGN(FileWriter writer, FileWriter::create(path));
  ESPALIER_TRY(writer.write(data, bytes));
  return writer.commit();
}

}  // namespace espalier
