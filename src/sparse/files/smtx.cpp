// .smtx, the text format of the Deep Learning Matrix Collection: "rows, cols, nonzeros", a line of row offsets, a line
// of column indices. A pattern without values.
#include <algorithm>
#include <limits>

#include "base/mapped_file.hpp"
#include "sparse/files/number_reader.hpp"
#include "sparse/files/parse.hpp"

namespace espalier {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

Result<std::vector<std::int64_t>> read_list(files::NumberReader& reader, std::int64_t count, std::string_view what,
                                            std::int64_t high) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  for (std::int64_t& value : values) {
    ESPALIER_ASSIGN(value, reader.integer(what, 0, high));
  }
  return values;
}

void print_list(const IndexArray& values, std::string& text) {
  for (std::int64_t i = 0; i < values.size(); ++i)
    fmt::format_to(std::back_inserter(text), "{}{}", i == 0 ? "" : " ", values[i]);
  text += '\n';
}

}  // namespace

Result<Csr> files::parse_smtx(std::string_view text, std::string_view where) {
  NumberReader reader(text, where);
  ESPALIER_ASSIGN(const std::int64_t rows, reader.integer("the number of rows", 0, kMax - 1));
  ESPALIER_ASSIGN(const std::int64_t cols, reader.integer("the number of columns", 0, kMax));
  ESPALIER_ASSIGN(const std::int64_t kept, reader.integer("the number of non-zeros", 0, kMax));
  if (rows > reader.capacity() || kept > reader.capacity())
    return fail(ErrorCode::kInvalidData, "{}: line 1 declares {} rows and {} non-zeros, more than the file can hold",
                where, rows, kept);
  ESPALIER_ASSIGN(const auto starts, read_list(reader, rows + 1, "a row offset", kept));
  ESPALIER_ASSIGN(const auto columns, read_list(reader, kept, "a column index", std::max<std::int64_t>(cols - 1, 0)));
  if (!reader.at_end()) return reader.unexpected("the end of the file");
  Csr matrix{rows, cols, IndexArray::of(starts), IndexArray::of(columns), Tensor(DType::kF32, {kept})};
  std::fill(matrix.values.values<float>().begin(), matrix.values.values<float>().end(), 1.0F);
  if (const Status valid = validate(matrix); !valid)
    return fail(valid.error().code, "{}: {}", where, valid.error().message);
  return matrix;
}

Result<Csr> read_smtx(const std::string& path) {
  ESPALIER_ASSIGN(const MappedFile file, MappedFile::open(path));
  return files::parse_smtx({reinterpret_cast<const char*>(file.data()), file.size()}, path);
}

Status write_smtx(const std::string& path, const Csr& matrix) {
  ESPALIER_TRY(validate(matrix));
  std::string text = fmt::format("{}, {}, {}\n", matrix.rows, matrix.cols, matrix.cols_of.size());
  print_list(matrix.row_starts, text);
  print_list(matrix.cols_of, text);
  return write_file(path, text.data(), text.size());
}

}  // namespace espalier
