// The readers over bytes in memory: what the functions of files.hpp do once a file is mapped, and what fuzzing calls.
// `where` names the file in messages. Errors as in files.hpp.
#pragma once

#include <espalier/files.hpp>
#include <memory>
#include <string_view>

#include "sparse/files/byte_cursor.hpp"

namespace espalier::files {

Result<std::vector<NamedTensor>> parse_npz(Bytes bytes, std::string_view where);
// The tensors share `owner`, which must keep `bytes` alive; a tensor that is not aligned to its element is copied.
Result<Safetensors> parse_safetensors(Bytes bytes, const std::shared_ptr<const void>& owner, std::string_view where);
// The matrices among the tensors.
Result<std::vector<NamedMatrix>> parse_matrices(const Safetensors& contents, std::string_view where);
Result<Csr> parse_smtx(std::string_view text, std::string_view where);
Result<Csr> parse_matrix_market(std::string_view text, std::string_view where);

}  // namespace espalier::files
