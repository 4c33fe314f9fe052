// A position in one line of the text form, and the tokens that are read from it. Errors say line, column, what was
// expected and what was found.
#pragma once

#include <charconv>
#include <espalier/status.hpp>
#include <string>
#include <string_view>
#include <system_error>

#include "base/fail.hpp"

namespace espalier::text {

class Cursor {
 public:
  Cursor(std::string_view line, int number) : line_(line), number_(number) {}

  void skip_spaces();
  void skip(std::size_t characters) { position_ += characters; }
  bool at_end();                        // nothing left but spaces and a comment
  bool accept(std::string_view token);  // skips spaces, then the token if it is next
  bool next_is(char c);
  Status expect(std::string_view token);

  Result<std::string> quoted();      // "text" with \" \\ \n \xNN
  Result<std::string> word();        // bare or quoted
  Result<std::string> value_name();  // after '%'; a digit may come first
  // The longest run of what a number, true, false, inf or nan is made of; empty if there is none.
  std::string_view scalar();

  template <typename T>
  Result<T> number(std::string_view text) const {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || text.empty())
      return unexpected<T>("a number in range", text.empty() ? rest() : text);
    return value;
  }
  template <typename T>
  Result<T> number() {
    return number<T>(scalar());
  }

  std::string_view rest() const { return line_.substr(position_); }

  template <typename T>
  Result<T> unexpected(std::string_view expected, std::string_view found) const {
    return fail(ErrorCode::kInvalidData, "line {}, column {}: expected {}, found '{}'", number_, position_ + 1,
                expected, found);
  }
  tl::unexpected<Error> error(std::string_view what) const {
    return fail(ErrorCode::kInvalidData, "line {}: {}", number_, what);
  }

 private:
  std::string_view line_;
  std::size_t position_ = 0;
  int number_;
};

}  // namespace espalier::text
