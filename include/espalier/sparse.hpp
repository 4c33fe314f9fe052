// Sparse matrices: patterns, masks and the canonical formats, with encode, decode, validate, transpose and convert.
//
// A weight matrix W is m x k (out x in), row-major, and is a *pattern* plus *values*. The formats here are
// architecture-neutral: files hold them, kernels pack from them. Index arrays are 32-bit where element counts fit, else
// 64-bit. A stored -0.0 counts as a zero when a pattern is read from dense values. All types are values: copies share
// bytes, nothing here is thread-safe for writing. See docs/formats.md for the layouts at bit level.
#pragma once

#include <cstdint>
#include <espalier/export.hpp>
#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace espalier {

// ---- Patterns ----------------------------------------------------------------------------------------------------

struct Dense {
  bool operator==(const Dense&) const = default;
};
// r x c blocks (r output channels by c input channels; all taps of a convolution together). The last block row and
// column may be ragged.
struct Block {
  std::int64_t rows = 8, cols = 8;
  bool operator==(const Block&) const = default;
};
// At most n kept of every m consecutive entries along a row (the input channels); `vector` rows share one pattern.
struct Nm {
  std::int64_t n = 2, m = 4, vector = 1;
  bool operator==(const Nm&) const = default;
};
// VENOM: in each V x M block 4 columns are kept, and within those 4 columns each row keeps n of 4 (n = 2).
struct Vnm {
  std::int64_t v = 64, n = 2, m = 8;
  bool operator==(const Vnm&) const = default;
};
struct Unstructured {
  bool operator==(const Unstructured&) const = default;
};

using Pattern = std::variant<Dense, Block, Nm, Vnm, Unstructured>;

// "dense", "block:8x8", "nm:2:4", "nm:2:4:v32", "vnm:64:2:8", "unstructured".
ESPALIER_API std::string to_string(const Pattern& pattern);
// The inverse. Errors (kInvalidArgument): unknown kind, a size < 1, n > m; the message shows the grammar.
ESPALIER_API Result<Pattern> parse_pattern(std::string_view text);
// The sizes alone: each 1 .. kMaxPatternSize, n <= m. Errors as parse_pattern.
ESPALIER_API Status check_pattern(const Pattern& pattern);
inline constexpr std::int64_t kMaxPatternSize = 65536;

// ---- Masks -------------------------------------------------------------------------------------------------------

// Which entries of a rows x cols matrix are kept: one byte per entry, 1 kept, 0 pruned, row-major.
struct Mask {
  std::int64_t rows = 0, cols = 0;
  std::vector<std::uint8_t> keep;

  bool at(std::int64_t row, std::int64_t col) const { return keep[static_cast<std::size_t>(row * cols + col)] != 0; }
  ESPALIER_API std::int64_t kept() const;
  ESPALIER_API double density() const;  // kept / all; 1 for an empty matrix
  bool operator==(const Mask&) const = default;

  ESPALIER_API static Mask full(std::int64_t rows, std::int64_t cols);
};

// The mask of the entries that are not zero (-0.0 is a zero, NaN is kept). `weights` is rank 2 of any type.
ESPALIER_API Result<Mask> mask_of_nonzeros(const Tensor& weights);
// kInvalidData naming the first block, group or row that breaks the pattern, else success. dense: every entry kept;
// block: each block kept or pruned whole; nm: at most n kept of each group, over the `vector` rows together; vnm: at
// most 4 columns kept in a V x M block and at most n in each of its rows; unstructured: any mask.
ESPALIER_API Status check_mask(const Mask& mask, const Pattern& pattern);
// Zeroes the pruned entries. Errors: kInvalidArgument when shapes differ.
ESPALIER_API Result<Tensor> apply_mask(const Tensor& weights, const Mask& mask);

// ---- Index arrays ------------------------------------------------------------------------------------------------

// Offsets or coordinates, 32- or 64-bit, owned or borrowed (SciPy's and PyTorch's arrays are viewed, not copied).
class ESPALIER_API IndexArray {
 public:
  IndexArray() = default;
  // Chooses 32 bits when `values` fit.
  static IndexArray of(std::span<const std::int64_t> values);
  // Borrowed or shared: rank 1, kI32 or kI64. Error: kInvalidArgument otherwise.
  static Result<IndexArray> from(Tensor tensor);

  std::int64_t size() const { return tensor_.defined() ? tensor_.count() : 0; }
  bool is_64bit() const { return tensor_.dtype() == DType::kI64; }
  std::int64_t operator[](std::int64_t position) const {
    return is_64bit() ? static_cast<const std::int64_t*>(tensor_.raw())[position]
                      : static_cast<const std::int32_t*>(tensor_.raw())[position];
  }
  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor tensor_ = Tensor(DType::kI32, {0});
};

// ---- Formats -----------------------------------------------------------------------------------------------------

// Compressed rows of r x c blocks: SciPy's and PyTorch's BSR, byte for byte.
// row_starts: block_rows() + 1 offsets; block_cols: one block column per kept block, in any order inside a row, no
// duplicates; values: [kept blocks, r, c]. Entries of ragged blocks outside the matrix are ignored when read and zero
// when written.
struct BlockSparse {
  std::int64_t rows = 0, cols = 0;
  Block block;
  IndexArray row_starts, block_cols;
  Tensor values;

  std::int64_t block_rows() const { return block.rows < 1 ? 0 : rows / block.rows + (rows % block.rows != 0); }
  std::int64_t block_columns() const { return block.cols < 1 ? 0 : cols / block.cols + (cols % block.cols != 0); }
  std::int64_t kept_blocks() const { return block_cols.size(); }
  ESPALIER_API double density() const;  // kept entries (inside the matrix) / all; 1 for an empty matrix
};

// N of M along rows, `pattern.vector` rows sharing positions, M <= 256. Each row of ceil(cols / M) groups holds exactly
// N values per group, at ascending positions. values: [rows, groups * N]; positions: kU8 [ceil(rows / vector), groups *
// N], each < M. Explicit zeros fill a group up, at its highest free positions that lie inside the matrix; only when a
// ragged last group has fewer than N columns do positions point past the last column: such entries are ignored when
// read and zero when written. (Files and packed layouts pack positions to 2 bits for M = 4: docs/formats.md.)
struct NmSparse {
  std::int64_t rows = 0, cols = 0;
  Nm pattern;
  Tensor values, positions;

  std::int64_t groups() const { return pattern.m < 1 ? 0 : cols / pattern.m + (cols % pattern.m != 0); }
};

// Compressed sparse rows. values: [kept].
struct Csr {
  std::int64_t rows = 0, cols = 0;
  IndexArray row_starts, cols_of;
  Tensor values;
};

// ---- Views without copying ---------------------------------------------------------------------------------------

struct BsrShape {
  std::int64_t rows = 0, cols = 0;
  Block block;
};
// A contiguous range as a borrowed tensor of rank 1.
template <typename Range>
Tensor view_of(const Range& range) {
  using Element = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(range))>>;
  return Tensor::view(dtype_of<Element>, {static_cast<std::int64_t>(std::size(range))},
                      static_cast<const void*>(std::data(range)));
}
// The caller's arrays, exactly SciPy's `(indptr, indices, data)` and PyTorch's `(crow_indices, col_indices, values)`,
// which must outlive every copy of the matrix; validated. Indices are i32 or i64. Errors as validate().
ESPALIER_API Result<BlockSparse> view_bsr(const Tensor& indptr, const Tensor& indices, const Tensor& data,
                                          BsrShape shape);
ESPALIER_API Result<Csr> view_csr(const Tensor& indptr, const Tensor& indices, const Tensor& data, std::int64_t rows,
                                  std::int64_t cols);
// The same of vectors, spans and arrays.
template <typename Indptr, typename Indices, typename Data>
Result<BlockSparse> view_bsr(const Indptr& indptr, const Indices& indices, const Data& data, BsrShape shape) {
  return view_bsr(view_of(indptr), view_of(indices), view_of(data), shape);
}
template <typename Indptr, typename Indices, typename Data>
Result<Csr> view_csr(const Indptr& indptr, const Indices& indices, const Data& data, std::int64_t rows,
                     std::int64_t cols) {
  return view_csr(view_of(indptr), view_of(indices), view_of(data), rows, cols);
}

// ---- Operations --------------------------------------------------------------------------------------------------
// Errors of all: kInvalidArgument for sizes or types that do not fit (block 0, rank, dtype), kInvalidData for contents
// (offsets that fall, a coordinate out of range or twice in a row, more than N kept), naming the first offender.

ESPALIER_API Status validate(const BlockSparse& matrix);
ESPALIER_API Status validate(const NmSparse& matrix);
ESPALIER_API Status validate(const Csr& matrix);

// Keeps the blocks in which the mask keeps any entry; values that the mask prunes inside a kept block become zero.
ESPALIER_API Result<BlockSparse> encode_block(const Tensor& dense, const Mask& mask, Block block);
// Refuses a mask with more than N kept in a group, naming it: (row 17, columns 64..67).
ESPALIER_API Result<NmSparse> encode_nm(const Tensor& dense, const Mask& mask, Nm pattern);
ESPALIER_API Result<Csr> encode_csr(const Tensor& dense, const Mask& mask);
// From the dense values alone: the mask is mask_of_nonzeros.
ESPALIER_API Result<BlockSparse> encode_block(const Tensor& dense, Block block);
ESPALIER_API Result<NmSparse> encode_nm(const Tensor& dense, Nm pattern);
ESPALIER_API Result<Csr> encode_csr(const Tensor& dense);

// What follows takes matrices that are valid (from the functions above, from view_bsr, or checked with validate); an
// invalid one is the caller's bug and aborts. Conversions keep every stored entry, explicit zeros too.
ESPALIER_API Tensor decode(const BlockSparse& matrix);
ESPALIER_API Tensor decode(const NmSparse& matrix);
ESPALIER_API Tensor decode(const Csr& matrix);

ESPALIER_API BlockSparse transpose(const BlockSparse& matrix);
ESPALIER_API Csr transpose(const Csr& matrix);

ESPALIER_API Result<BlockSparse> to_block(const Csr& matrix, Block block);
ESPALIER_API Result<BlockSparse> to_block(const BlockSparse& matrix, Block block);  // merge or split blocks
ESPALIER_API Csr to_csr(const BlockSparse& matrix);
ESPALIER_API Csr to_csr(const NmSparse& matrix);

// The narrowest common pattern that the non-zeros of a matrix fit, tried in this order: dense; the blocks 32x32, 32x1,
// 16x16, 16x4, 16x1, 8x8, 8x1, 4x4, 4x1 (N:M shared by 4 or more rows is such a block pattern too); nm:1:4; nm:2:4;
// unstructured. Kept units may hold a few zeros by chance: 1 in 256 of a float type, 1 in 16 of an integer type (where
// quantisation makes zeros).
struct Recognized {
  Pattern pattern;
  double density = 1.0;  // of the pattern (kept blocks, or n of m in the groups that keep any), not of the non-zeros
};
ESPALIER_API Result<Recognized> recognize_pattern(const Tensor& dense);

}  // namespace espalier
