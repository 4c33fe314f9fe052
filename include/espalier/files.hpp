// Reading and writing tensors and matrices: .npy, .npz, safetensors, DLMC .smtx, Matrix Market.
//
// Readers check every declared size against the bytes that exist and against caps before they allocate. A writer writes
// a temporary file beside the target and renames it when complete, so a crash never leaves half a file.
#pragma once

#include <espalier/export.hpp>
#include <espalier/sparse.hpp>
#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace espalier {

// Errors of all readers: kNotFound or kIo with the path, kInvalidData saying at which byte what was expected and found,
// kLimit for a declared size above the cap (64 GiB unpacked).

// Every element type; bf16, which NumPy lacks, as its two-byte void type '<V2'. Fortran order becomes row-major.
ESPALIER_API Result<Tensor> read_npy(const std::string& path);
ESPALIER_API Status write_npy(const std::string& path, const Tensor& tensor);

// Stored and deflated members, zip64, CRC-32 checked; written stored. Names without ".npy".
ESPALIER_API Result<std::vector<NamedTensor>> read_npz(const std::string& path);
ESPALIER_API Status write_npz(const std::string& path, const std::vector<NamedTensor>& tensors);

struct Safetensors {
  // Share one mapping of the file, read-only; only a tensor that is not aligned to its element is copied.
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;
};
ESPALIER_API Result<Safetensors> read_safetensors(const std::string& path);
// The header is space-padded so that the data starts at a multiple of 64 bytes. The format allows no holes between
// tensors, so larger elements come first, which aligns each tensor to its element; a reader still sees them in this
// order. Errors: kInvalidArgument for a name used twice or an absent tensor.
ESPALIER_API Status write_safetensors(const std::string& path, const Safetensors& contents);

// Sparse matrices in a safetensors file, each as its arrays and one line of metadata (docs/formats.md): what other
// programs read as plain tensors. Positions of M = 4 take 2 bits each.
using SparseMatrix = std::variant<BlockSparse, NmSparse, Csr>;
struct NamedMatrix {
  std::string name;
  SparseMatrix matrix;
};
// Every matrix of the file, validated; its values share the mapping. Tensors that belong to no matrix are left out.
ESPALIER_API Result<std::vector<NamedMatrix>> read_matrices(const std::string& path);
// Errors: kInvalidArgument for a matrix that is not valid or a name that is taken.
ESPALIER_API Status write_matrices(const std::string& path, const std::vector<NamedMatrix>& matrices);

// DLMC: "rows, cols, nnz", row offsets, column indices; a pattern without values (all 1.0f).
ESPALIER_API Result<Csr> read_smtx(const std::string& path);
ESPALIER_API Status write_smtx(const std::string& path, const Csr& matrix);

// Matrix Market coordinate files: real and integer (read as f64), pattern (1.0f); general and symmetric. Duplicate
// entries are an error. Written as general, with the shortest digits that read back equal.
ESPALIER_API Result<Csr> read_matrix_market(const std::string& path);
ESPALIER_API Status write_matrix_market(const std::string& path, const Csr& matrix);

// Writes bytes through a temporary file and a rename; when that fails, what stood at `path` is untouched.
ESPALIER_API Status write_file(const std::string& path, const void* data, std::size_t bytes);

}  // namespace espalier
