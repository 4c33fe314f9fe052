#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace espalier::cli {

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(column.title.size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string result;
  const auto append = [&](std::size_t i, const std::string& cell) {
    if (i > 0) result += "  ";
    result += columns_[i].right ? fmt::format("{:>{}}", cell, widths[i]) : fmt::format("{:<{}}", cell, widths[i]);
  };
  const auto end_line = [&] {
    result.erase(result.find_last_not_of(' ') + 1);
    result += '\n';
  };
  for (std::size_t i = 0; i < columns_.size(); ++i) append(i, columns_[i].title);
  end_line();
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) append(i, row[i]);
    end_line();
  }
  result.pop_back();
  return result;
}

std::string short_count(std::int64_t count) {
  if (count < 0) return "-";
  constexpr std::array<std::pair<double, const char*>, 3> kUnits = {{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [size, unit] : kUnits)
    if (static_cast<double>(count) >= size) return fmt::format("{:.2f} {}", static_cast<double>(count) / size, unit);
  return std::to_string(count);
}

std::string short_ms(double ms) { return ms < 0 ? "-" : fmt::format("{:.4g}", ms); }

}  // namespace espalier::cli
