// Patterns as text: "dense", "block:8x8", "nm:2:4", "nm:2:4:v32", "vnm:64:2:8", "unstructured".
#include <algorithm>
#include <charconv>
#include <espalier/sparse.hpp>
#include <optional>

#include "base/fail.hpp"

namespace espalier {
namespace {

constexpr std::string_view kGrammar =
    "dense, block:RxC (block:8x8), nm:N:M (nm:2:4), nm:N:M:vV (nm:2:4:v32), vnm:V:N:M (vnm:64:2:8) or unstructured";

struct Printer {
  std::string operator()(Dense) const { return "dense"; }
  std::string operator()(Block block) const { return fmt::format("block:{}x{}", block.rows, block.cols); }
  std::string operator()(Nm nm) const {
    return nm.vector == 1 ? fmt::format("nm:{}:{}", nm.n, nm.m) : fmt::format("nm:{}:{}:v{}", nm.n, nm.m, nm.vector);
  }
  std::string operator()(Vnm vnm) const { return fmt::format("vnm:{}:{}:{}", vnm.v, vnm.n, vnm.m); }
  std::string operator()(Unstructured) const { return "unstructured"; }
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    if (end == text.size()) return parts;
    begin = end + 1;
  }
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The numbers of a pattern, or nothing when the text does not follow the grammar.
std::optional<Pattern> read(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  const std::string_view kind = parts[0];
  if (parts.size() == 1 && kind == "dense") return Dense{};
  if (parts.size() == 1 && kind == "unstructured") return Unstructured{};
  std::vector<std::optional<std::int64_t>> numbers;
  if (kind == "block" && parts.size() == 2) {
    for (const std::string_view part : split(parts[1], 'x')) numbers.push_back(parse_number(part));
    if (numbers.size() != 2 || !numbers[0] || !numbers[1]) return std::nullopt;
    return Block{*numbers[0], *numbers[1]};
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const bool vector = kind == "nm" && i == 3 && parts[i].substr(0, 1) == "v";
    numbers.push_back(kind == "nm" && i == 3 && !vector ? std::nullopt : parse_number(parts[i].substr(vector ? 1 : 0)));
  }
  if (std::find(numbers.begin(), numbers.end(), std::nullopt) != numbers.end()) return std::nullopt;
  if (kind == "nm" && numbers.size() == 2) return Nm{*numbers[0], *numbers[1], 1};
  if (kind == "nm" && numbers.size() == 3) return Nm{*numbers[0], *numbers[1], *numbers[2]};
  if (kind == "vnm" && numbers.size() == 3) return Vnm{*numbers[0], *numbers[1], *numbers[2]};
  return std::nullopt;
}

struct Sizes {
  std::vector<std::int64_t> operator()(Dense) const { return {}; }
  std::vector<std::int64_t> operator()(Block block) const { return {block.rows, block.cols}; }
  std::vector<std::int64_t> operator()(Nm nm) const { return {nm.n, nm.m, nm.vector}; }
  std::vector<std::int64_t> operator()(Vnm vnm) const { return {vnm.v, vnm.n, vnm.m}; }
  std::vector<std::int64_t> operator()(Unstructured) const { return {}; }
};
std::vector<std::int64_t> sizes_of(const Pattern& pattern) { return std::visit(Sizes{}, pattern); }

}  // namespace

std::string to_string(const Pattern& pattern) { return std::visit(Printer{}, pattern); }

Result<Pattern> parse_pattern(std::string_view text) {
  const std::optional<Pattern> pattern = read(text);
  if (!pattern) return fail(ErrorCode::kInvalidArgument, "unknown pattern '{}': expected {}", text, kGrammar);
  ESPALIER_TRY(check_pattern(*pattern));
  return *pattern;
}

Status check_pattern(const Pattern& pattern) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::kInvalidArgument, "pattern '{}': {}; expected {}", to_string(pattern), why, kGrammar);
  };
  for (const std::int64_t size : sizes_of(pattern))
    if (size < 1 || size > kMaxPatternSize) return refuse(fmt::format("sizes are 1 to {}", kMaxPatternSize));
  if (const auto* nm = std::get_if<Nm>(&pattern); nm != nullptr && nm->n > nm->m)
    return refuse(fmt::format("cannot keep {} of {}", nm->n, nm->m));
  if (const auto* vnm = std::get_if<Vnm>(&pattern)) {
    if (vnm->n > 4) return refuse(fmt::format("cannot keep {} of the 4 columns that a block keeps", vnm->n));
    if (vnm->m < 4) return refuse("a block keeps 4 columns, so M is at least 4");
  }
  return {};
}

}  // namespace espalier
