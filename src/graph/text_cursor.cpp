#include "graph/text_cursor.hpp"

#include "graph/text_elements.hpp"

namespace espalier::text {

void Cursor::skip_spaces() {
  while (position_ < line_.size() && (line_[position_] == ' ' || line_[position_] == '\t')) ++position_;
}

bool Cursor::at_end() {
  skip_spaces();
  return position_ == line_.size() || line_[position_] == '#';
}

bool Cursor::accept(std::string_view token) {
  skip_spaces();
  if (rest().substr(0, token.size()) != token) return false;
  // A word must end where the token ends: "input" is not the start of "inputs".
  const std::size_t end = position_ + token.size();
  if (is_bare_first(token.back()) && end < line_.size() && is_bare(line_[end])) return false;
  position_ = end;
  return true;
}

bool Cursor::next_is(char c) {
  skip_spaces();
  return position_ < line_.size() && line_[position_] == c;
}

Status Cursor::expect(std::string_view token) {
  if (accept(token)) return {};
  return unexpected<void>(fmt::format("'{}'", token), rest());
}

Result<std::string> Cursor::quoted() {
  ESPALIER_TRY(expect("\""));
  std::string result;
  for (; position_ < line_.size(); ++position_) {
    const char c = line_[position_];
    if (c == '"') {
      ++position_;
      return result;
    }
    if (c != '\\') {
      result += c;
      continue;
    }
    if (++position_ == line_.size()) break;
    if (line_[position_] == 'n') {
      result += '\n';
    } else if (line_[position_] == 'x') {
      const std::string_view digits = line_.substr(position_ + 1, 2);
      unsigned value = 0;
      const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
      if (failure != std::errc() || digits.size() != 2 || end != digits.data() + 2)
        return unexpected<std::string>("two hexadecimal digits after \\x", digits);
      result += static_cast<char>(value);
      position_ += 2;
    } else {
      result += line_[position_];
    }
  }
  return error("the string is not closed by '\"'");
}

Result<std::string> Cursor::word() {
  if (next_is('"')) return quoted();
  const std::size_t begin = position_;
  if (begin == line_.size() || !is_bare_first(line_[begin])) return unexpected<std::string>("a name", rest());
  while (position_ < line_.size() && is_bare(line_[position_])) ++position_;
  return std::string(line_.substr(begin, position_ - begin));
}

Result<std::string> Cursor::value_name() {
  ESPALIER_TRY(expect("%"));
  if (position_ < line_.size() && line_[position_] == '"') return quoted();
  const std::size_t begin = position_;
  while (position_ < line_.size() && is_bare(line_[position_])) ++position_;
  if (begin == position_) return unexpected<std::string>("the name of a value after '%'", rest());
  return std::string(line_.substr(begin, position_ - begin));
}

std::string_view Cursor::scalar() {
  skip_spaces();
  const std::size_t begin = position_;
  while (position_ < line_.size() && (is_bare(line_[position_]) || line_[position_] == '+')) ++position_;
  return line_.substr(begin, position_ - begin);
}

}  // namespace espalier::text
