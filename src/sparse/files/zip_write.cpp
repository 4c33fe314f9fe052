#include <zlib.h>

#include <algorithm>

#include "sparse/files/zip.hpp"

namespace espalier::files {
namespace {

constexpr std::uint64_t kLong = 0xffffffff;    // this and above needs zip64
constexpr std::uint16_t kDateOf1980 = 0x0021;  // files are reproducible: no time stamps
constexpr std::uint16_t kVersion = 20, kVersion64 = 45;

class Record {
 public:
  template <typename T>
  Record& add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Record& add_text(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

std::uint32_t short_size(std::uint64_t size) { return static_cast<std::uint32_t>(std::min(size, kLong)); }

// Version, flags, method, time, date, CRC and the two sizes, as local and central headers share them.
void add_description(Record& record, std::uint32_t crc, std::uint64_t size, bool zip64) {
  record.add(zip64 ? kVersion64 : kVersion).add(std::uint16_t{0x0800});  // names are UTF-8
  record.add(std::uint16_t{0}).add(std::uint16_t{0}).add(kDateOf1980).add(crc);
  record.add(short_size(size)).add(short_size(size));
}

}  // namespace

Status ZipWriter::add(const std::string& name, const std::vector<Bytes>& parts) {
  if (name.size() > 0xffff)
    return fail(ErrorCode::kInvalidArgument, "zip: a name of {} bytes, expected at most 65535", name.size());
  Entry entry{name, 0, 0, static_cast<std::uint64_t>(file_.position())};
  uLong crc = 0;
  for (const Bytes part : parts) {
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(part.data()), part.size());
    entry.size += part.size();
  }
  entry.crc32 = static_cast<std::uint32_t>(crc);
  const bool zip64 = entry.size >= kLong;
  Record local;
  local.add(std::uint32_t{0x04034b50});
  add_description(local, entry.crc32, entry.size, zip64);
  local.add(static_cast<std::uint16_t>(name.size())).add(static_cast<std::uint16_t>(zip64 ? 20 : 0)).add_text(name);
  if (zip64) local.add(std::uint16_t{1}).add(std::uint16_t{16}).add(entry.size).add(entry.size);
  ESPALIER_TRY(file_.write(local.bytes().data(), local.bytes().size()));
  for (const Bytes part : parts) ESPALIER_TRY(file_.write(part.data(), part.size()));
  entries_.push_back(std::move(entry));
  return {};
}

Status ZipWriter::finish() {
  const auto begin = static_cast<std::uint64_t>(file_.position());
  for (const Entry& entry : entries_) {
    const bool long_size = entry.size >= kLong, long_offset = entry.offset >= kLong;
    const int extra = (long_size ? 16 : 0) + (long_offset ? 8 : 0);
    Record central;
    central.add(std::uint32_t{0x02014b50}).add(extra != 0 ? kVersion64 : kVersion);
    add_description(central, entry.crc32, entry.size, extra != 0);
    central.add(static_cast<std::uint16_t>(entry.name.size()))
        .add(static_cast<std::uint16_t>(extra != 0 ? extra + 4 : 0));
    central.add(std::uint16_t{0}).add(std::uint16_t{0}).add(std::uint16_t{0}).add(std::uint32_t{0});
    central.add(short_size(entry.offset)).add_text(entry.name);
    if (extra != 0) central.add(std::uint16_t{1}).add(static_cast<std::uint16_t>(extra));
    if (long_size) central.add(entry.size).add(entry.size);
    if (long_offset) central.add(entry.offset);
    ESPALIER_TRY(file_.write(central.bytes().data(), central.bytes().size()));
  }
  const auto end = static_cast<std::uint64_t>(file_.position());
  const std::uint64_t count = entries_.size(), size = end - begin;
  Record record;
  if (count >= 0xffff || size >= kLong || begin >= kLong) {
    record.add(std::uint32_t{0x06064b50}).add(std::uint64_t{44}).add(kVersion64).add(kVersion64);
    record.add(std::uint32_t{0}).add(std::uint32_t{0}).add(count).add(count).add(size).add(begin);
    record.add(std::uint32_t{0x07064b50}).add(std::uint32_t{0}).add(end).add(std::uint32_t{1});
  }
  const auto short_count = static_cast<std::uint16_t>(std::min<std::uint64_t>(count, 0xffff));
  record.add(std::uint32_t{0x06054b50}).add(std::uint16_t{0}).add(std::uint16_t{0}).add(short_count).add(short_count);
  record.add(short_size(size)).add(short_size(begin)).add(std::uint16_t{0});
  return file_.write(record.bytes().data(), record.bytes().size());
}

}  // namespace espalier::files
