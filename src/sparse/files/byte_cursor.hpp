// Reads the bytes of a file front to back; an end that comes too early is an Error with the position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <espalier/status.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/fail.hpp"

namespace espalier::files {

using Bytes = std::span<const std::byte>;

// What is read little-endian; the library runs on little-endian machines only.
template <typename T>
T load(const std::byte* data) {
  T value{};
  std::memcpy(&value, data, sizeof value);
  return value;
}

class ByteCursor {
 public:
  // `where` names the file in messages; `bytes` must outlive the cursor.
  ByteCursor(Bytes bytes, std::string_view where, std::size_t position = 0)
      : bytes_(bytes), where_(where), position_(position) {}

  std::size_t position() const { return position_; }
  std::size_t left() const { return position_ < bytes_.size() ? bytes_.size() - position_ : 0; }

  // The next `count` bytes. `what` they are, for the message. Error: kInvalidData.
  Result<Bytes> take(std::uint64_t count, std::string_view what) {
    if (count > left())
      return fail(ErrorCode::kInvalidData, "{}: at byte {}: expected {} ({} bytes), found the end after {} bytes",
                  where_, position_, what, count, left());
    const Bytes taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    return taken;
  }

  template <typename T>
  Result<T> number(std::string_view what) {
    ESPALIER_ASSIGN(const Bytes taken, take(sizeof(T), what));
    return load<T>(taken.data());
  }

 private:
  Bytes bytes_;
  std::string where_;
  std::size_t position_;
};

}  // namespace espalier::files
