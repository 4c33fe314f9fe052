// Matrix Market coordinate files: a banner, comments, "rows columns entries", then one entry a line, counted from 1.
#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <numeric>

#include "base/dispatch.hpp"
#include "base/mapped_file.hpp"
#include "sparse/files/number_reader.hpp"
#include "sparse/files/parse.hpp"

namespace espalier {
namespace {

struct Banner {
  bool pattern = false, symmetric = false;
};

struct Coordinate {
  std::int64_t row, col;
  double value;
};

Result<Banner> parse_banner(std::string_view line, std::string_view where) {
  std::array<std::string, 5> words;
  std::size_t count = 0;
  bool in_word = false;
  for (const char c : line) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!space && !in_word) ++count;
    in_word = !space;
    if (!space && count <= words.size())
      words[count - 1] += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (count != words.size() || words[0] != "%%matrixmarket")
    return fail(ErrorCode::kInvalidData,
                "{}: line 1: expected '%%MatrixMarket matrix coordinate FIELD SYMMETRY', found '{}'", where,
                line.substr(0, 60));
  const bool field = words[3] == "real" || words[3] == "double" || words[3] == "integer" || words[3] == "pattern";
  const bool symmetry = words[4] == "general" || words[4] == "symmetric";
  if (words[1] != "matrix" || words[2] != "coordinate" || !field || !symmetry)
    return fail(ErrorCode::kUnsupported,
                "{}: Matrix Market '{} {} {} {}': expected matrix coordinate, real, integer or pattern, general or "
                "symmetric",
                where, words[1], words[2], words[3], words[4]);
  return Banner{words[3] == "pattern", words[4] == "symmetric"};
}

// Sorted by row, then by column.
Csr gather_rows(std::int64_t rows, std::int64_t cols, std::vector<Coordinate> entries, bool pattern) {
  std::stable_sort(entries.begin(), entries.end(), [](const Coordinate& a, const Coordinate& b) {
    return std::pair(a.row, a.col) < std::pair(b.row, b.col);
  });
  std::vector<std::int64_t> starts(static_cast<std::size_t>(rows) + 1), columns;
  Tensor values(DType::kF64, {static_cast<std::int64_t>(entries.size())});
  double* value = values.values<double>().data();
  for (const Coordinate& entry : entries) {
    ++starts[static_cast<std::size_t>(entry.row) + 1];
    columns.push_back(entry.col);
    *value++ = entry.value;
  }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  return {rows, cols, IndexArray::of(starts), IndexArray::of(columns), pattern ? values.cast(DType::kF32) : values};
}

// The offsets of empty rows take memory that no byte of the file backs.
Status check_declared(std::int64_t rows, std::int64_t entries, const files::NumberReader& reader,
                      std::string_view where) {
  constexpr std::int64_t kFreeRows = std::int64_t{1} << 24, kRowsPerNumber = 128;
  if (entries > reader.capacity())
    return fail(ErrorCode::kInvalidData, "{}: line {} declares {} entries, more than the file can hold", where,
                reader.line(), entries);
  if (rows > kFreeRows && rows / kRowsPerNumber > reader.capacity())
    return fail(ErrorCode::kLimit, "{}: line {} declares {} rows, far more than the file has entries", where,
                reader.line(), rows);
  return {};
}

}  // namespace

Result<Csr> files::parse_matrix_market(std::string_view text, std::string_view where) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  NumberReader reader(text, where);
  ESPALIER_ASSIGN(const Banner banner, parse_banner(reader.take_line(), where));
  while (reader.at_comment()) reader.take_line();
  ESPALIER_ASSIGN(const std::int64_t rows, reader.integer("the number of rows", 0, kMax - 1));
  ESPALIER_ASSIGN(const std::int64_t cols, reader.integer("the number of columns", 0, kMax));
  ESPALIER_ASSIGN(const std::int64_t declared, reader.integer("the number of entries", 0, kMax));
  ESPALIER_TRY(check_declared(rows, declared, reader, where));
  if (banner.symmetric && rows != cols)
    return fail(ErrorCode::kInvalidData, "{}: a symmetric matrix of {} x {}, expected a square one", where, rows, cols);
  std::vector<Coordinate> entries;
  entries.reserve(static_cast<std::size_t>(declared));
  for (std::int64_t i = 0; i < declared; ++i) {
    Coordinate entry{0, 0, 1.0};
    ESPALIER_ASSIGN(entry.row, reader.integer("a row", 1, rows));
    ESPALIER_ASSIGN(entry.col, reader.integer("a column", 1, cols));
    if (!banner.pattern) {
      ESPALIER_ASSIGN(entry.value, reader.real("a value"));
    }
    --entry.row;
    --entry.col;
    entries.push_back(entry);
    if (banner.symmetric && entry.row != entry.col) entries.push_back({entry.col, entry.row, entry.value});
  }
  if (!reader.at_end()) return reader.unexpected("the end of the file");
  Csr matrix = gather_rows(rows, cols, std::move(entries), banner.pattern);
  if (const Status valid = validate(matrix); !valid)
    return fail(valid.error().code, "{}: {}", where, valid.error().message);
  return matrix;
}

Result<Csr> read_matrix_market(const std::string& path) {
  ESPALIER_ASSIGN(const MappedFile file, MappedFile::open(path));
  return files::parse_matrix_market({reinterpret_cast<const char*>(file.data()), file.size()}, path);
}

Status write_matrix_market(const std::string& path, const Csr& matrix) {
  ESPALIER_TRY(validate(matrix));
  std::string text = fmt::format("%%MatrixMarket matrix coordinate {} general\n{} {} {}\n",
                                 is_float(matrix.values.dtype()) ? "real" : "integer", matrix.rows, matrix.cols,
                                 matrix.cols_of.size());
  dispatch(matrix.values.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto values = matrix.values.values<T>();
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      for (std::int64_t i = matrix.row_starts[row]; i < matrix.row_starts[row + 1]; ++i) {
        const T value = values[static_cast<std::size_t>(i)];
        fmt::format_to(std::back_inserter(text), "{} {} ", row + 1, matrix.cols_of[i] + 1);
        if constexpr (std::is_same_v<T, bf16> || std::is_same_v<T, f16>)
          fmt::format_to(std::back_inserter(text), "{}\n", static_cast<float>(value));
        else if constexpr (std::is_floating_point_v<T>)
          fmt::format_to(std::back_inserter(text), "{}\n", value);
        else
          fmt::format_to(std::back_inserter(text), "{:d}\n", value);
      }
    }
  });
  return write_file(path, text.data(), text.size());
}

}  // namespace espalier
