// Sparse matrices as tensors of a safetensors file: `NAME.values` and the arrays of its format, and
// `espalier.matrix.NAME` in the metadata, "PATTERN ROWSxCOLS".
#include <charconv>
#include <map>

#include "sparse/files/parse.hpp"

namespace espalier::files {
namespace {

constexpr std::string_view kPrefix = "espalier.matrix.";
constexpr std::int64_t kPackedGroup = 4;  // M whose positions take 2 bits
constexpr std::int64_t kPerByte = 4;

std::string metadata_of(const Pattern& pattern, std::int64_t rows, std::int64_t cols) {
  return fmt::format("{} {}x{}", to_string(pattern), rows, cols);
}

// A row of positions is padded to a whole byte.
std::int64_t packed_row(std::int64_t width) { return (width + kPerByte - 1) / kPerByte; }

Tensor pack_positions(const Tensor& positions) {
  const std::int64_t rows = positions.dim(0), width = positions.dim(1), row_bytes = packed_row(width);
  Tensor packed(DType::kU8, {rows, row_bytes});
  const auto from = positions.values<std::uint8_t>();
  const auto to = packed.values<std::uint8_t>();
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < width; ++i) {
      std::uint8_t& byte = to[static_cast<std::size_t>(row * row_bytes + i / kPerByte)];
      byte = static_cast<std::uint8_t>(byte | from[static_cast<std::size_t>(row * width + i)] << (i % kPerByte * 2));
    }
  return packed;
}

// Error: kInvalidData for another shape, or padding that is not zero.
Result<Tensor> unpack_positions(const Tensor& packed, std::int64_t rows, std::int64_t width, std::string_view what) {
  const std::int64_t row_bytes = packed_row(width);
  if (packed.dtype() != DType::kU8 || packed.shape() != Shape{rows, row_bytes})
    return fail(ErrorCode::kInvalidData, "{}.positions: expected u8 {}x{} (2 bits each), found {} {}", what, rows,
                row_bytes, to_string(packed.dtype()), to_string(packed.shape()));
  Tensor positions(DType::kU8, {rows, width});
  const auto from = packed.values<std::uint8_t>();
  const auto to = positions.values<std::uint8_t>();
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < row_bytes * kPerByte; ++i) {
      const int byte = from[static_cast<std::size_t>(row * row_bytes + i / kPerByte)];
      const auto position = static_cast<std::uint8_t>(byte >> (i % kPerByte * 2) & 3);
      if (i < width) {
        to[static_cast<std::size_t>(row * width + i)] = position;
      } else if (position != 0) {
        return fail(ErrorCode::kInvalidData, "{}.positions: row {} has bits set in its padding", what, row);
      }
    }
  return positions;
}

struct Description {
  Pattern pattern;
  std::int64_t rows = 0, cols = 0;
};

Result<Description> parse_description(std::string_view text, std::string_view what) {
  const auto bad = [&] {
    return fail(ErrorCode::kInvalidData, "{}: expected 'PATTERN ROWSxCOLS' (block:8x8 64x32), found '{}'", what, text);
  };
  const std::size_t space = text.find(' '), cross = text.rfind('x');
  if (space == std::string_view::npos || cross == std::string_view::npos || cross < space) return bad();
  Description description;
  const auto number = [](std::string_view digits, std::int64_t& value) {
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return problem == std::errc() && end == digits.data() + digits.size() && value >= 0;
  };
  if (!number(text.substr(space + 1, cross - space - 1), description.rows) ||
      !number(text.substr(cross + 1), description.cols))
    return bad();
  std::int64_t count = 0;
  if (__builtin_mul_overflow(description.rows, description.cols, &count))
    return fail(ErrorCode::kLimit, "{}: size {}x{} has more than 2^63 entries", what, description.rows,
                description.cols);
  ESPALIER_ASSIGN(description.pattern, parse_pattern(text.substr(0, space)));
  return description;
}

// The tensors of the file by name.
class Arrays {
 public:
  explicit Arrays(const Safetensors& contents) {
    for (const NamedTensor& named : contents.tensors) tensors_.emplace(named.name, named.tensor);
  }
  Result<Tensor> tensor(const std::string& matrix, std::string_view array, std::string_view what) const {
    const auto found = tensors_.find(fmt::format("{}.{}", matrix, array));
    if (found == tensors_.end()) return fail(ErrorCode::kInvalidData, "{}: has no tensor '{}.{}'", what, matrix, array);
    return found->second;
  }
  Result<IndexArray> indices(const std::string& matrix, std::string_view array, std::string_view what) const {
    ESPALIER_ASSIGN(const Tensor found, tensor(matrix, array, what));
    auto list = IndexArray::from(found);
    if (!list) return fail(ErrorCode::kInvalidData, "{}.{}: {}", what, array, list.error().message);
    return list;
  }

 private:
  std::map<std::string, Tensor> tensors_;
};

Result<SparseMatrix> read_matrix(const Arrays& arrays, const std::string& name, const Description& description,
                                 std::string_view what) {
  ESPALIER_ASSIGN(const Tensor values, arrays.tensor(name, "values", what));
  if (const auto* const nm = std::get_if<Nm>(&description.pattern)) {
    NmSparse matrix{description.rows, description.cols, *nm, values, {}};
    ESPALIER_ASSIGN(matrix.positions, arrays.tensor(name, "positions", what));
    if (nm->m == kPackedGroup) {
      const std::int64_t vectors = matrix.rows / nm->vector + (matrix.rows % nm->vector != 0);
      ESPALIER_ASSIGN(matrix.positions, unpack_positions(matrix.positions, vectors, matrix.groups() * nm->n, what));
    }
    return SparseMatrix(std::move(matrix));
  }
  ESPALIER_ASSIGN(const IndexArray row_starts, arrays.indices(name, "row_starts", what));
  if (const auto* const block = std::get_if<Block>(&description.pattern)) {
    ESPALIER_ASSIGN(const IndexArray block_cols, arrays.indices(name, "block_cols", what));
    return SparseMatrix(BlockSparse{description.rows, description.cols, *block, row_starts, block_cols, values});
  }
  if (!std::holds_alternative<Unstructured>(description.pattern))
    return fail(ErrorCode::kUnsupported, "{}: no format holds the pattern {}", what, to_string(description.pattern));
  ESPALIER_ASSIGN(const IndexArray cols_of, arrays.indices(name, "cols_of", what));
  return SparseMatrix(Csr{description.rows, description.cols, row_starts, cols_of, values});
}

// The pattern, and the tensors but for their names.
std::pair<std::string, std::vector<NamedTensor>> arrays_of(const SparseMatrix& matrix) {
  if (const auto* const block = std::get_if<BlockSparse>(&matrix))
    return {metadata_of(block->block, block->rows, block->cols),
            {{"row_starts", block->row_starts.tensor()},
             {"block_cols", block->block_cols.tensor()},
             {"values", block->values}}};
  if (const auto* const nm = std::get_if<NmSparse>(&matrix)) {
    const bool packed = nm->pattern.m == kPackedGroup;
    return {metadata_of(nm->pattern, nm->rows, nm->cols),
            {{"positions", packed ? pack_positions(nm->positions) : nm->positions}, {"values", nm->values}}};
  }
  const Csr& csr = std::get<Csr>(matrix);
  return {metadata_of(Unstructured{}, csr.rows, csr.cols),
          {{"row_starts", csr.row_starts.tensor()}, {"cols_of", csr.cols_of.tensor()}, {"values", csr.values}}};
}

}  // namespace

Result<std::vector<NamedMatrix>> parse_matrices(const Safetensors& contents, std::string_view where) {
  const Arrays arrays(contents);
  std::vector<NamedMatrix> matrices;
  for (const auto& [key, text] : contents.metadata) {
    if (!key.starts_with(kPrefix)) continue;
    const std::string name = key.substr(kPrefix.size());
    const std::string what = fmt::format("{}: matrix '{}'", where, name);
    ESPALIER_ASSIGN(const Description description, parse_description(text, what));
    ESPALIER_ASSIGN(SparseMatrix matrix, read_matrix(arrays, name, description, what));
    if (const Status valid = std::visit([](const auto& m) { return validate(m); }, matrix); !valid)
      return fail(ErrorCode::kInvalidData, "{}: {}", what, valid.error().message);
    matrices.push_back({name, std::move(matrix)});
  }
  return matrices;
}

}  // namespace espalier::files

namespace espalier {

Result<std::vector<NamedMatrix>> read_matrices(const std::string& path) {
  ESPALIER_ASSIGN(const Safetensors contents, read_safetensors(path));
  return files::parse_matrices(contents, path);
}

Status write_matrices(const std::string& path, const std::vector<NamedMatrix>& matrices) {
  Safetensors contents;
  for (const NamedMatrix& named : matrices) {
    if (const Status valid = std::visit([](const auto& m) { return validate(m); }, named.matrix); !valid)
      return fail(ErrorCode::kInvalidArgument, "{}: matrix '{}': {}", path, named.name, valid.error().message);
    auto [description, arrays] = files::arrays_of(named.matrix);
    if (!contents.metadata.emplace(std::string(files::kPrefix) + named.name, std::move(description)).second)
      return fail(ErrorCode::kInvalidArgument, "{}: the name '{}' is taken", path, named.name);
    for (NamedTensor& array : arrays)
      contents.tensors.push_back({named.name + "." + array.name, std::move(array.tensor)});
  }
  return write_safetensors(path, contents);
}

}  // namespace espalier
