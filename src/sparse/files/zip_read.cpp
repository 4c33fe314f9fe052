#include <zlib.h>

#include <algorithm>

#include "sparse/files/zip.hpp"

namespace espalier::files {
namespace {

constexpr std::uint32_t kEndSignature = 0x06054b50, kEnd64Signature = 0x06064b50, kLocator64Signature = 0x07064b50;
constexpr std::uint32_t kCentralSignature = 0x02014b50, kLocalSignature = 0x04034b50;
constexpr std::size_t kEndSize = 22, kLocator64Size = 20, kEnd64Size = 56, kCentralSize = 46, kLocalSize = 30;
constexpr std::uint64_t kMaxUnpacked = std::uint64_t{64} << 30;
constexpr std::uint64_t kMaxDeflateRatio = 1032;  // deflate cannot pack more densely than this

struct Directory {
  std::uint64_t entries = 0, size = 0, offset = 0;
};

class ZipReader {
 public:
  ZipReader(Bytes archive, std::string_view where) : archive_(archive), where_(where) {}

  Result<std::vector<ZipMember>> list() const {
    ESPALIER_ASSIGN(const Directory directory, find_directory());
    ByteCursor cursor(archive_, where_,
                      static_cast<std::size_t>(std::min<std::uint64_t>(directory.offset, archive_.size())));
    ESPALIER_ASSIGN(const Bytes bytes, cursor.take(directory.size, "the zip directory"));
    if (directory.entries > bytes.size() / kCentralSize)
      return fail(ErrorCode::kInvalidData, "{}: the zip directory declares {} members, but {} bytes hold at most {}",
                  where_, directory.entries, bytes.size(), bytes.size() / kCentralSize);
    std::vector<ZipMember> members;
    std::uint64_t packed = 0, unpacked = 0;
    ByteCursor entries(archive_.first(cursor.position()), where_, static_cast<std::size_t>(directory.offset));
    for (std::uint64_t i = 0; i < directory.entries; ++i) {
      ESPALIER_ASSIGN(ZipMember member, read_entry(entries));
      packed += member.packed.size();
      if (packed > archive_.size())
        return fail(ErrorCode::kInvalidData, "{}: zip members overlap: together they are longer than the file", where_);
      unpacked += member.size;  // each is at most kMaxUnpacked
      if (unpacked > kMaxUnpacked)
        return fail(ErrorCode::kLimit, "{}: unpacks to more than {} GiB", where_, kMaxUnpacked >> 30);
      members.push_back(std::move(member));
    }
    return members;
  }

 private:
  tl::unexpected<Error> bad(std::size_t position, std::string_view expected) const {
    return fail(ErrorCode::kInvalidData, "{}: at byte {}: expected {}, found other bytes", where_, position, expected);
  }

  // The end record lies before a comment of unknown length, so it is searched from the back.
  Result<Directory> find_directory() const {
    for (std::size_t back = kEndSize; back <= std::min<std::size_t>(archive_.size(), kEndSize + 0xffff); ++back) {
      const std::size_t position = archive_.size() - back;
      const std::byte* end = archive_.data() + position;
      if (load<std::uint32_t>(end) != kEndSignature || load<std::uint16_t>(end + 20) != back - kEndSize) continue;
      const Directory directory{load<std::uint16_t>(end + 10), load<std::uint32_t>(end + 12),
                                load<std::uint32_t>(end + 16)};
      const bool needs64 =
          directory.entries == 0xffff || directory.size == 0xffffffff || directory.offset == 0xffffffff;
      if (needs64 && position >= kLocator64Size && load<std::uint32_t>(end - kLocator64Size) == kLocator64Signature)
        return find_directory64(load<std::uint64_t>(end - kLocator64Size + 8));
      if (load<std::uint16_t>(end + 4) != 0 || load<std::uint16_t>(end + 6) != 0)
        return fail(ErrorCode::kUnsupported, "{}: a zip archive split over several disks", where_);
      return directory;
    }
    return fail(ErrorCode::kInvalidData, "{}: expected a zip archive (.npz), found no zip directory in its {} bytes",
                where_, archive_.size());
  }

  Result<Directory> find_directory64(std::uint64_t offset) const {
    if (offset > archive_.size() || archive_.size() - offset < kEnd64Size)
      return fail(ErrorCode::kInvalidData, "{}: the zip64 directory is said to be at byte {} of {}", where_, offset,
                  archive_.size());
    const std::byte* end = archive_.data() + offset;
    if (load<std::uint32_t>(end) != kEnd64Signature)
      return bad(static_cast<std::size_t>(offset), "the zip64 directory");
    return Directory{load<std::uint64_t>(end + 32), load<std::uint64_t>(end + 40), load<std::uint64_t>(end + 48)};
  }

  Result<ZipMember> read_entry(ByteCursor& cursor) const {
    const std::size_t position = cursor.position();
    ESPALIER_ASSIGN(const Bytes fixed, cursor.take(kCentralSize, "a zip directory entry"));
    const std::byte* entry = fixed.data();
    if (load<std::uint32_t>(entry) != kCentralSignature) return bad(position, "a zip directory entry");
    ESPALIER_ASSIGN(const Bytes name, cursor.take(load<std::uint16_t>(entry + 28), "a member's name"));
    ESPALIER_ASSIGN(const Bytes extra, cursor.take(load<std::uint16_t>(entry + 30), "a member's extra fields"));
    ESPALIER_TRY(cursor.take(load<std::uint16_t>(entry + 32), "a member's comment"));
    ZipMember member;
    member.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
    member.crc32 = load<std::uint32_t>(entry + 16);
    std::uint64_t packed = load<std::uint32_t>(entry + 20), offset = load<std::uint32_t>(entry + 42);
    member.size = load<std::uint32_t>(entry + 24);
    ESPALIER_TRY(read_zip64_extra(extra, member, packed, offset));
    if ((load<std::uint16_t>(entry + 8) & 1U) != 0)
      return fail(ErrorCode::kUnsupported, "{}: member '{}' is encrypted", where_, member.name);
    const auto method = load<std::uint16_t>(entry + 10);
    if (method != 0 && method != 8)
      return fail(ErrorCode::kUnsupported,
                  "{}: member '{}' is packed by method {}: expected 0 (stored) or 8 (deflated)", where_, member.name,
                  method);
    member.method = static_cast<ZipMethod>(method);
    ESPALIER_TRY(check_size(member, packed));
    ESPALIER_ASSIGN(member.packed, find_data(member, packed, offset));
    return member;
  }

  // Sizes that do not fit 32 bits stand in the extra field 1, in this order, each only where the short one is all ones.
  Status read_zip64_extra(Bytes extra, ZipMember& member, std::uint64_t& packed, std::uint64_t& offset) const {
    ByteCursor cursor(extra, where_);
    while (cursor.left() >= 4) {
      ESPALIER_ASSIGN(const auto id, cursor.number<std::uint16_t>("an extra field"));
      ESPALIER_ASSIGN(const auto length, cursor.number<std::uint16_t>("an extra field"));
      ESPALIER_ASSIGN(const Bytes field, cursor.take(length, "an extra field of '" + member.name + "'"));
      if (id != 1) continue;
      ByteCursor values(field, where_);
      for (std::uint64_t* value : {&member.size, &packed, &offset})
        if (*value == 0xffffffff) {
          ESPALIER_ASSIGN(*value, values.number<std::uint64_t>("a zip64 size of '" + member.name + "'"));
        }
    }
    return {};
  }

  Status check_size(const ZipMember& member, std::uint64_t packed) const {
    if (member.size > kMaxUnpacked)
      return fail(ErrorCode::kLimit, "{}: member '{}' declares {} bytes, more than {} GiB", where_, member.name,
                  member.size, kMaxUnpacked >> 30);
    const bool possible =
        member.method == ZipMethod::kStored ? member.size == packed : member.size / kMaxDeflateRatio <= packed;
    if (!possible)
      return fail(ErrorCode::kInvalidData, "{}: member '{}' declares {} bytes unpacked from {}, which cannot be",
                  where_, member.name, member.size, packed);
    return {};
  }

  // The local header repeats name and extra fields with lengths of its own.
  Result<Bytes> find_data(const ZipMember& member, std::uint64_t packed, std::uint64_t offset) const {
    ByteCursor cursor(archive_, where_, static_cast<std::size_t>(std::min<std::uint64_t>(offset, archive_.size())));
    ESPALIER_ASSIGN(const Bytes local, cursor.take(kLocalSize, "the header of member '" + member.name + "'"));
    if (load<std::uint32_t>(local.data()) != kLocalSignature)
      return bad(static_cast<std::size_t>(offset), "the header of member '" + member.name + "'");
    ESPALIER_TRY(cursor.take(load<std::uint16_t>(local.data() + 26), "a member's name"));
    ESPALIER_TRY(cursor.take(load<std::uint16_t>(local.data() + 28), "a member's extra fields"));
    return cursor.take(packed, "the data of member '" + member.name + "'");
  }

  Bytes archive_;
  std::string_view where_;
};

// zlib counts in 32 bits, so long members go through in pieces.
bool inflate_all(Bytes packed, std::vector<std::byte>& out) {
  constexpr std::size_t kPiece = std::size_t{1} << 30;
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  std::size_t read = 0, written = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    const std::size_t in = std::min(packed.size() - read, kPiece), space = std::min(out.size() - written, kPiece);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + read));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + written);
    stream.avail_out = static_cast<uInt>(space);
    status = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += space - stream.avail_out;
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END && written == out.size();
}

}  // namespace

Result<std::vector<ZipMember>> list_zip(Bytes archive, std::string_view where) {
  return ZipReader(archive, where).list();
}

Result<Bytes> unpack(const ZipMember& member, std::vector<std::byte>& buffer, std::string_view where) {
  Bytes unpacked = member.packed;
  if (member.method == ZipMethod::kDeflated) {
    buffer.resize(static_cast<std::size_t>(member.size));
    if (!inflate_all(member.packed, buffer))
      return fail(ErrorCode::kInvalidData, "{}: member '{}' does not unpack to the {} bytes that it declares", where,
                  member.name, member.size);
    unpacked = buffer;
  }
  const auto* data = reinterpret_cast<const Bytef*>(unpacked.data());
  const auto crc = static_cast<std::uint32_t>(crc32_z(0, data, unpacked.size()));
  if (crc != member.crc32)
    return fail(ErrorCode::kInvalidData, "{}: member '{}' is damaged: its CRC-32 is {:08x}, expected {:08x}", where,
                member.name, crc, member.crc32);
  return unpacked;
}

}  // namespace espalier::files
