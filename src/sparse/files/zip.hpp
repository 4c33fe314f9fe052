// Zip archives as .npz files use them: stored or deflated members, zip64, no encryption, one disk.
// Source: PKWARE's APPNOTE.TXT 6.3.9.
#pragma once

#include <espalier/status.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_writer.hpp"
#include "sparse/files/byte_cursor.hpp"

namespace espalier::files {

enum class ZipMethod : std::uint16_t { kStored = 0, kDeflated = 8 };

struct ZipMember {
  std::string name;
  ZipMethod method = ZipMethod::kStored;
  std::uint32_t crc32 = 0;
  std::uint64_t size = 0;  // unpacked
  Bytes packed;            // inside the archive
};

// The members of the central directory. Errors: kInvalidData with the byte; kUnsupported for encryption, other methods
// and several disks; kLimit when the members unpack to more than 64 GiB.
Result<std::vector<ZipMember>> list_zip(Bytes archive, std::string_view where);

// The unpacked bytes, checked against size and CRC-32. A stored member is returned in place; `buffer` holds the others.
Result<Bytes> unpack(const ZipMember& member, std::vector<std::byte>& buffer, std::string_view where);

// Writes stored members; zip64 fields appear only where sizes need them.
class ZipWriter {
 public:
  explicit ZipWriter(FileWriter& file) : file_(file) {}
  // The member is the concatenation of `parts`.
  Status add(const std::string& name, const std::vector<Bytes>& parts);
  // The central directory; nothing may be added afterwards.
  Status finish();

 private:
  struct Entry {
    std::string name;
    std::uint32_t crc32;
    std::uint64_t size, offset;
  };
  FileWriter& file_;
  std::vector<Entry> entries_;
};

}  // namespace espalier::files
