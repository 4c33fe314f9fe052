// .npz: a zip archive of .npy members.
#include <algorithm>
#include <set>

#include "base/mapped_file.hpp"
#include "sparse/files/npy.hpp"
#include "sparse/files/parse.hpp"
#include "sparse/files/zip.hpp"

namespace espalier {

Result<std::vector<NamedTensor>> files::parse_npz(Bytes bytes, std::string_view where) {
  constexpr std::string_view kSuffix = ".npy";
  ESPALIER_ASSIGN(const std::vector<ZipMember> members, list_zip(bytes, where));
  std::vector<NamedTensor> tensors;
  std::vector<std::byte> buffer;
  std::set<std::string_view> names;
  for (const ZipMember& member : members) {
    if (!names.insert(member.name).second)
      return fail(ErrorCode::kInvalidData, "{}: two members are named '{}'", where, member.name);
    ESPALIER_ASSIGN(const Bytes npy, unpack(member, buffer, where));
    ESPALIER_ASSIGN(Tensor tensor, parse_npy(npy, fmt::format("{}: member '{}'", where, member.name)));
    std::string_view name = member.name;
    if (name.size() >= kSuffix.size() && name.substr(name.size() - kSuffix.size()) == kSuffix)
      name.remove_suffix(kSuffix.size());
    tensors.push_back({std::string(name), std::move(tensor)});
  }
  return tensors;
}

Result<std::vector<NamedTensor>> read_npz(const std::string& path) {
  ESPALIER_ASSIGN(const MappedFile file, MappedFile::open(path));
  return files::parse_npz({file.data(), file.size()}, path);
}

Status write_npz(const std::string& path, const std::vector<NamedTensor>& tensors) {
  std::set<std::string_view> names;
  for (const NamedTensor& named : tensors) {
    if (!named.tensor.defined())
      return fail(ErrorCode::kInvalidArgument, "{}: '{}' has no tensor to write", path, named.name);
    if (!names.insert(named.name).second)
      return fail(ErrorCode::kInvalidArgument, "{}: two tensors are named '{}'", path, named.name);
  }
  ESPALIER_ASSIGN(FileWriter writer, FileWriter::create(path));
  files::ZipWriter zip(writer);
  for (const NamedTensor& named : tensors) {
    const std::string header = files::npy_header(named.tensor.dtype(), named.tensor.shape());
    const auto* elements = static_cast<const std::byte*>(named.tensor.raw());
    ESPALIER_TRY(
        zip.add(named.name + ".npy", {files::Bytes(reinterpret_cast<const std::byte*>(header.data()), header.size()),
                                      files::Bytes(elements, named.tensor.bytes())}));
  }
  ESPALIER_TRY(zip.finish());
  return writer.commit();
}

}  // namespace espalier
