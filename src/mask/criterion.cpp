#include <array>
#include <espalier/mask.hpp>
#include <utility>

#include "base/fail.hpp"

namespace espalier {
namespace {

constexpr std::array<std::pair<Criterion, std::string_view>, 4> kNames = {{
    {Criterion::kL1, "l1"},
    {Criterion::kL2, "l2"},
    {Criterion::kVariance, "variance"},
    {Criterion::kRandom, "random"},
}};

}  // namespace

std::string_view to_string(Criterion criterion) noexcept {
  for (const auto& [known, name] : kNames)
    if (known == criterion) return name;
  return "?";
}

Result<Criterion> parse_criterion(std::string_view text) {
  for (const auto& [criterion, name] : kNames)
    if (name == text) return criterion;
  return fail(ErrorCode::kInvalidArgument, "unknown criterion '{}': expected l1, l2, variance or random", text);
}

}  // namespace espalier
