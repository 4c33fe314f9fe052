// A table for people: columns as wide as their widest cell; numbers right-aligned.
#pragma once

#include <string>
#include <vector>

namespace espalier::cli {

struct Column {
  std::string title;
  bool right = false;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  // Without a newline at the end.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "25.6 M", "4.1 G"; "-" for a negative number, which stands for unknown.
std::string short_count(std::int64_t count);
// "0.123" with four significant digits; "-" for a negative number.
std::string short_ms(double ms);

}  // namespace espalier::cli
