// safetensors: a 64-bit header length, a JSON header, the tensors back to back in the order of their offsets.
// Source: the format's README and the checks of its reference reader (offsets without holes that cover the file).
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file_writer.hpp"
#include "base/mapped_file.hpp"
#include "sparse/files/parse.hpp"

namespace espalier::files {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMaxHeader = 100'000'000;  // as the reference reader has it
constexpr std::string_view kMetadata = "__metadata__";
constexpr int kMaxDepth = 3;  // {"name": {"shape": [ ]}}

constexpr std::array<std::pair<DType, std::string_view>, 13> kNames = {{
    {DType::kF32, "F32"},
    {DType::kF64, "F64"},
    {DType::kBf16, "BF16"},
    {DType::kF16, "F16"},
    {DType::kI8, "I8"},
    {DType::kU8, "U8"},
    {DType::kI16, "I16"},
    {DType::kU16, "U16"},
    {DType::kI32, "I32"},
    {DType::kU32, "U32"},
    {DType::kI64, "I64"},
    {DType::kU64, "U64"},
    {DType::kBool, "BOOL"},
}};

// One tensor of the header; offsets count from the end of the header.
struct Entry {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;
};

// A number that is an integer in 0 .. 2^63 - 1.
bool is_size(const Json& value) {
  return value.is_number_unsigned() && value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX};
}

Result<Json> parse_header(Bytes text, std::string_view where) {
  bool too_deep = false;
  const auto* begin = reinterpret_cast<const char*>(text.data());
  Json header = Json::parse(
      begin, begin + text.size(),
      [&](int depth, Json::parse_event_t, const Json&) {
        too_deep = too_deep || depth > kMaxDepth;
        return !too_deep;
      },
      false);
  if (too_deep) return fail(ErrorCode::kLimit, "{}: safetensors header nested deeper than {} levels", where, kMaxDepth);
  if (!header.is_object())
    return fail(ErrorCode::kInvalidData, "{}: at byte 8: expected the safetensors header, a JSON object of {} bytes",
                where, text.size());
  return header;
}

Result<Entry> read_entry(const std::string& name, const Json& fields, std::string_view where) {
  const auto bad = [&](std::string_view expected) {
    return fail(ErrorCode::kInvalidData, "{}: tensor '{}': expected {}", where, name, expected);
  };
  if (!fields.is_object() || !fields.contains("dtype") || !fields.contains("shape") || !fields.contains("data_offsets"))
    return bad("an object with dtype, shape and data_offsets");
  const Json &dtype = fields["dtype"], &shape = fields["shape"], &offsets = fields["data_offsets"];
  if (!dtype.is_string()) return bad("dtype to be a string");
  Entry entry;
  entry.name = name;
  const auto* known = std::find_if(kNames.begin(), kNames.end(),
                                   [&](const auto& row) { return row.second == dtype.get_ref<const std::string&>(); });
  if (known == kNames.end())
    return fail(ErrorCode::kUnsupported,
                "{}: tensor '{}' is of type {}: expected BOOL, U8 to U64, I8 to I64, F16, BF16, F32 or F64", where,
                name, dtype.get_ref<const std::string&>());
  entry.dtype = known->first;
  if (!shape.is_array() || !std::all_of(shape.begin(), shape.end(), is_size)) return bad("shape to be a list of sizes");
  for (const Json& size : shape) entry.shape.push_back(size.get<std::int64_t>());
  if (!offsets.is_array() || offsets.size() != 2 || !is_size(offsets[0]) || !is_size(offsets[1]))
    return bad("data_offsets to be two positions");
  entry.begin = offsets[0].get<std::uint64_t>();
  entry.end = offsets[1].get<std::uint64_t>();
  const auto count = checked_element_count(entry.shape);
  std::int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, static_cast<std::int64_t>(size_of(entry.dtype)), &bytes))
    return fail(ErrorCode::kLimit, "{}: tensor '{}' of shape {} has more than 2^63 bytes", where, name,
                to_string(entry.shape));
  if (entry.begin > entry.end || entry.end - entry.begin != static_cast<std::uint64_t>(bytes))
    return bad(fmt::format("{} bytes for {} of shape {}, found offsets {}..{}", bytes, to_string(entry.dtype),
                           to_string(entry.shape), entry.begin, entry.end));
  return entry;
}

// Back to back from 0 to the end of the file, so that no byte is hidden and none is shared.
Status check_coverage(const std::vector<Entry>& entries, std::uint64_t size, std::string_view where) {
  std::vector<const Entry*> order;
  for (const Entry& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(),
            [](const Entry* a, const Entry* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
  std::uint64_t expected = 0;
  for (const Entry* entry : order) {
    if (entry->begin != expected)
      return fail(ErrorCode::kInvalidData, "{}: tensor '{}' starts at {}, expected {}: tensors lie back to back", where,
                  entry->name, entry->begin, expected);
    expected = entry->end;
  }
  if (expected == size) return {};
  return fail(ErrorCode::kInvalidData, "{}: the tensors take {} bytes, but {} follow the header", where, expected,
              size);
}

Result<Tensor> make_tensor(const Entry& entry, Bytes data, const std::shared_ptr<const void>& owner,
                           std::string_view where) {
  const std::byte* begin = data.data() + entry.begin;
  if (entry.dtype == DType::kBool &&
      std::any_of(begin, data.data() + entry.end, [](std::byte flag) { return flag > std::byte{1}; }))
    return fail(ErrorCode::kInvalidData, "{}: tensor '{}' is BOOL but holds bytes other than 0 and 1", where,
                entry.name);
  Tensor tensor = Tensor::shared(entry.dtype, entry.shape, std::shared_ptr<const void>(owner, begin));
  const bool aligned = reinterpret_cast<std::uintptr_t>(begin) % size_of(entry.dtype) == 0;
  return aligned ? tensor : tensor.clone();
}

// Larger elements first, so that each tensor is aligned to its element without holes; equal ones keep their order.
std::vector<Entry> lay_out(const std::vector<NamedTensor>& tensors) {
  std::vector<Entry> entries;
  for (const NamedTensor& named : tensors) entries.push_back({named.name, named.tensor.dtype(), named.tensor.shape()});
  std::uint64_t position = 0;
  for (const std::size_t element : {8U, 4U, 2U, 1U}) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (size_of(entries[i].dtype) != element) continue;
      entries[i].begin = position;
      position += tensors[i].tensor.bytes();
      entries[i].end = position;
    }
  }
  return entries;
}

Status check_names(const Safetensors& contents, const std::string& path) {
  std::set<std::string_view> names;
  for (const NamedTensor& named : contents.tensors) {
    if (!named.tensor.defined())
      return fail(ErrorCode::kInvalidArgument, "{}: '{}' has no tensor to write", path, named.name);
    if (named.name == kMetadata || !names.insert(named.name).second)
      return fail(ErrorCode::kInvalidArgument, "{}: the name '{}' is taken", path, named.name);
  }
  return {};
}

Result<std::string> print_header(const Safetensors& contents, const std::vector<Entry>& entries,
                                 const std::string& path) {
  Json header = Json::object();
  if (!contents.metadata.empty()) header[std::string(kMetadata)] = contents.metadata;
  for (const Entry& entry : entries) {
    const auto* name =
        std::find_if(kNames.begin(), kNames.end(), [&](const auto& row) { return row.first == entry.dtype; });
    header[entry.name] = {{"dtype", name->second}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  try {
    std::string text = header.dump();
    text.resize((8 + text.size() + 63) / 64 * 64 - 8, ' ');
    if (text.size() > kMaxHeader)
      return fail(ErrorCode::kLimit, "{}: a safetensors header of {} bytes, expected at most {}", path, text.size(),
                  kMaxHeader);
    return text;
  } catch (const Json::exception&) {
    return fail(ErrorCode::kInvalidArgument, "{}: names and metadata must be UTF-8", path);
  }
}

}  // namespace

Result<Safetensors> parse_safetensors(Bytes bytes, const std::shared_ptr<const void>& owner, std::string_view where) {
  ByteCursor cursor(bytes, where);
  ESPALIER_ASSIGN(const auto length, cursor.number<std::uint64_t>("the length of the safetensors header"));
  if (length > kMaxHeader)
    return fail(ErrorCode::kLimit, "{}: a safetensors header of {} bytes, expected at most {}", where, length,
                kMaxHeader);
  ESPALIER_ASSIGN(const Bytes text, cursor.take(length, "the safetensors header"));
  ESPALIER_ASSIGN(const Json header, parse_header(text, where));
  Safetensors contents;
  std::vector<Entry> entries;
  for (const auto& [name, fields] : header.items()) {
    if (name == kMetadata) {
      if (!fields.is_object())
        return fail(ErrorCode::kInvalidData, "{}: expected {} to be an object of strings", where, kMetadata);
      for (const auto& [key, value] : fields.items()) {
        if (!value.is_string())
          return fail(ErrorCode::kInvalidData, "{}: expected metadata '{}' to be a string", where, key);
        contents.metadata[key] = value.get<std::string>();
      }
      continue;
    }
    ESPALIER_ASSIGN(Entry entry, read_entry(name, fields, where));
    entries.push_back(std::move(entry));
  }
  const Bytes data = bytes.subspan(cursor.position());
  ESPALIER_TRY(check_coverage(entries, data.size(), where));
  for (const Entry& entry : entries) {
    ESPALIER_ASSIGN(Tensor tensor, make_tensor(entry, data, owner, where));
    contents.tensors.push_back({entry.name, std::move(tensor)});
  }
  return contents;
}

}  // namespace espalier::files

namespace espalier {

Result<Safetensors> read_safetensors(const std::string& path) {
  ESPALIER_ASSIGN(const MappedFile file, MappedFile::open(path));
  return files::parse_safetensors({file.data(), file.size()}, file.owner(), path);
}

Status write_safetensors(const std::string& path, const Safetensors& contents) {
  ESPALIER_TRY(files::check_names(contents, path));
  const std::vector<files::Entry> entries = files::lay_out(contents.tensors);
  ESPALIER_ASSIGN(const std::string header, files::print_header(contents, entries, path));
  std::vector<std::size_t> order(entries.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(entries[a].begin, a) < std::pair(entries[b].begin, b);
  });
  ESPALIER_ASSIGN(FileWriter writer, FileWriter::create(path));
  const std::uint64_t length = header.size();
  ESPALIER_TRY(writer.write(&length, sizeof length));
  ESPALIER_TRY(writer.write(header.data(), header.size()));
  for (const std::size_t i : order)
    ESPALIER_TRY(writer.write(contents.tensors[i].tensor.raw(), contents.tensors[i].tensor.bytes()));
  return writer.commit();
}

}  // namespace espalier
