// Numbers in text files, separated by white space or commas, with the line in messages.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <espalier/status.hpp>
#include <string_view>

#include "base/fail.hpp"

namespace espalier::files {

class NumberReader {
 public:
  NumberReader(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  std::int64_t line() const { return line_; }
  // Numbers that could still follow: each takes a digit and a separator.
  std::int64_t capacity() const { return static_cast<std::int64_t>((text_.size() - position_) / 2 + 1); }

  // The rest of the current line, without its end.
  std::string_view take_line() {
    const std::size_t end = std::min(text_.find('\n', position_), text_.size());
    std::string_view line = text_.substr(position_, end - position_);
    position_ = std::min(end + 1, text_.size());
    ++line_;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return line;
  }

  bool at_comment() const { return position_ < text_.size() && text_[position_] == '%'; }

  bool at_end() {
    skip_separators();
    return position_ == text_.size();
  }

  // Error: kInvalidData unless an integer in low .. high comes next.
  Result<std::int64_t> integer(std::string_view what, std::int64_t low, std::int64_t high) {
    skip_separators();
    const std::size_t begin = position_;
    std::int64_t value = 0;
    const bool read = parse(value);
    if (read && value >= low && value <= high) return value;
    position_ = begin;
    return unexpected(fmt::format("{}, an integer in {}..{}", what, low, high));
  }

  Result<double> real(std::string_view what) {
    double value = 0;
    if (!parse(value)) return unexpected(fmt::format("{}, a number", what));
    return value;
  }

  tl::unexpected<Error> unexpected(std::string_view expected) const {
    const std::string_view rest =
        text_.substr(position_, std::min<std::size_t>(text_.find('\n', position_) - position_, 24));
    return fail(ErrorCode::kInvalidData, "{}: line {}: expected {}, found '{}'", where_, line_, expected, rest);
  }

 private:
  static bool is_separator(char c) { return c == ' ' || c == ',' || c == '\t' || c == '\r' || c == '\n'; }

  void skip_separators() {
    for (; position_ < text_.size() && is_separator(text_[position_]); ++position_)
      if (text_[position_] == '\n') ++line_;
  }

  // Leaves the position where it was when no whole number stands there.
  template <typename T>
  bool parse(T& value) {
    skip_separators();
    const char* end_of_text = text_.data() + text_.size();
    const char* begin = text_.data() + position_;
    if (begin != end_of_text && *begin == '+') ++begin;
    const auto [end, error] = std::from_chars(begin, end_of_text, value);
    if (error != std::errc{} || (end != end_of_text && !is_separator(*end))) return false;
    position_ = static_cast<std::size_t>(end - text_.data());
    return true;
  }

  std::string_view text_, where_;
  std::size_t position_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace espalier::files
