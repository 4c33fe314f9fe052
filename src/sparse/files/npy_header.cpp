#include "sparse/files/npy_header.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/fail.hpp"

namespace espalier::files {
namespace {

constexpr std::array<std::pair<DType, std::string_view>, 13> kDescrs = {{
    {DType::kF32, "<f4"},
    {DType::kF64, "<f8"},
    {DType::kBf16, "<V2"},
    {DType::kF16, "<f2"},
    {DType::kI8, "|i1"},
    {DType::kU8, "|u1"},
    {DType::kI16, "<i2"},
    {DType::kU16, "<u2"},
    {DType::kI32, "<i4"},
    {DType::kU32, "<u4"},
    {DType::kI64, "<i8"},
    {DType::kU64, "<u8"},
    {DType::kBool, "|b1"},
}};

constexpr std::size_t kMaxRank = 64;

// A reader of the few Python literals that NumPy writes there.
class LiteralReader {
 public:
  LiteralReader(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  bool accept(char c) {
    skip_space();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  Status expect(char c) {
    if (accept(c)) return {};
    return unexpected(fmt::format("'{}'", c));
  }

  Result<std::string_view> string() {
    skip_space();
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, position_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) return unexpected("a quoted string");
    const std::string_view value = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    return value;
  }

  Result<bool> boolean() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(position_, word.size()) != word) continue;
      position_ += word.size();
      return value;
    }
    return unexpected("True or False");
  }

  Result<std::int64_t> size() {
    skip_space();
    std::int64_t value = 0;
    const char* begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc{} || value < 0) return unexpected("a size");
    position_ += static_cast<std::size_t>(end - begin);
    if (position_ < text_.size() && text_[position_] == 'L') ++position_;  // Python 2 wrote long integers so
    return value;
  }

  Result<Shape> shape() {
    ESPALIER_TRY(expect('('));
    Shape shape;
    while (!accept(')')) {
      if (shape.size() == kMaxRank) return unexpected(fmt::format("at most {} dimensions", kMaxRank));
      ESPALIER_ASSIGN(const std::int64_t value, size());
      shape.push_back(value);
      if (accept(',')) continue;
      ESPALIER_TRY(expect(')'));
      break;
    }
    return shape;
  }

  Status expect_end() {
    skip_space();
    if (position_ == text_.size()) return {};
    return unexpected("the end of the header");
  }

  tl::unexpected<Error> unexpected(std::string_view expected) const {
    const std::string_view rest = text_.substr(std::min(position_, text_.size()), 16);
    return fail(ErrorCode::kInvalidData, "{}: .npy header, character {}: expected {}, found '{}'", where_, position_,
                expected, rest);
  }

 private:
  void skip_space() {
    while (position_ < text_.size() &&
           (text_[position_] == ' ' || text_[position_] == '\n' || text_[position_] == '\t'))
      ++position_;
  }

  std::string_view text_, where_;
  std::size_t position_ = 0;
};

Result<DType> parse_descr(std::string_view descr, std::string_view where) {
  for (const auto& [dtype, name] : kDescrs) {
    // One-byte types have no byte order; '=' never reaches a file, but the reader of NumPy takes it too.
    const bool any_order = size_of(dtype) == 1 || dtype == DType::kBf16;
    if (descr == name || (any_order && descr.size() == 3 && descr.substr(1) == name.substr(1))) return dtype;
  }
  const bool swapped = descr.size() > 1 && descr[0] == '>';
  return fail(
      ErrorCode::kUnsupported,
      "{}: .npy elements of type '{}' cannot be read{}: expected little-endian floats (f2 f4 f8), integers (i1 to "
      "i8, u1 to u8), b1, or V2 for bf16",
      where, descr, swapped ? " (big-endian)" : "");
}

}  // namespace

std::string_view npy_descr(DType dtype) {
  for (const auto& [known, name] : kDescrs)
    if (known == dtype) return name;
  return "?";
}

Result<NpyHeader> parse_npy_header(std::string_view text, std::string_view where) {
  LiteralReader reader(text, where);
  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
  ESPALIER_TRY(reader.expect('{'));
  while (!reader.accept('}')) {
    ESPALIER_ASSIGN(const std::string_view key, reader.string());
    ESPALIER_TRY(reader.expect(':'));
    if (key == "descr" && !descr) {
      if (reader.accept('['))
        return fail(ErrorCode::kUnsupported, "{}: .npy holds records with several fields: expected one element type",
                    where);
      ESPALIER_ASSIGN(descr, reader.string());
    } else if (key == "fortran_order" && !fortran_order) {
      ESPALIER_ASSIGN(fortran_order, reader.boolean());
    } else if (key == "shape" && !shape) {
      ESPALIER_ASSIGN(shape, reader.shape());
    } else {
      return reader.unexpected(fmt::format("descr, fortran_order and shape once each before '{}'", key));
    }
    if (reader.accept(',')) continue;
    ESPALIER_TRY(reader.expect('}'));
    break;
  }
  ESPALIER_TRY(reader.expect_end());
  if (!descr || !fortran_order || !shape) return reader.unexpected("descr, fortran_order and shape");
  ESPALIER_ASSIGN(const DType dtype, parse_descr(*descr, where));
  return NpyHeader{dtype, *fortran_order, *std::move(shape)};
}

}  // namespace espalier::files
