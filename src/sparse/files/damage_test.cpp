// Damaged files: every prefix and every flipped bit of a small file of each format gives a value or an Error. The bytes
// lie in a heap block of exactly their size, so that a sanitizer sees the first byte read past the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <functional>

#include "base/mapped_file.hpp"
#include "sparse/files/npy.hpp"
#include "sparse/files/parse.hpp"

namespace espalier::files {
namespace {

using testing::HasSubstr;

using Parse = std::function<ErrorCode(const std::string&, bool&)>;

template <typename R>
ErrorCode outcome(const R& result, bool& good) {
  good = result.has_value();
  return good ? ErrorCode::kIo : result.error().code;
}

struct Format {
  const char* name;
  std::string good;
  Parse parse;
};

std::string written(const std::function<Status(const std::string&)>& write) {
  const std::string path = testing::TempDir() + "espalier_damage_" + std::to_string(::getpid());
  EXPECT_TRUE(write(path));
  const auto file = MappedFile::open(path);
  std::remove(path.c_str());
  return {reinterpret_cast<const char*>(file->data()), file->size()};
}

// The text as bytes in a block of their own.
struct Exact {
  explicit Exact(const std::string& text)
      : data(new std::byte[text.size()], std::default_delete<std::byte[]>()), size(text.size()) {
    if (size != 0) std::memcpy(data.get(), text.data(), size);
  }
  Bytes bytes() const { return {data.get(), size}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data.get()), size}; }

  std::shared_ptr<std::byte> data;
  std::size_t size;
};

std::string deflated_zip(std::string_view name, const std::string& content);

std::vector<Format> formats() {
  const Tensor tensor = Tensor::of<std::int16_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Csr csr{3, 4, IndexArray::of(std::vector<std::int64_t>{0, 2, 2, 3}),
                IndexArray::of(std::vector<std::int64_t>{0, 3, 1}), Tensor::of<float>({3}, {1, 2.5F, -3})};
  const Parse npz = [](const std::string& s, bool& good) { return outcome(parse_npz(Exact(s).bytes(), "f"), good); };
  return {
      {"npy", written([&](const std::string& p) { return write_npy(p, tensor); }),
       [](const std::string& s, bool& good) { return outcome(parse_npy(Exact(s).bytes(), "f"), good); }},
      {"npz", written([&](const std::string& p) {
         return write_npz(p, {{"a", tensor}, {"b", tensor}});
       }),
       npz},
      {"npz deflated", deflated_zip("a.npy", npy_header(DType::kU8, {400}) + std::string(400, 'x')), npz},
      {"safetensors", written([&](const std::string& p) {
         return write_safetensors(p, {{{"a", tensor}, {"b", Tensor::scalar(true)}}, {{"k", "v"}}});
       }),
       [](const std::string& s, bool& good) {
         const Exact exact(s);
         return outcome(parse_safetensors(exact.bytes(), exact.data, "f"), good);
       }},
      {"smtx", written([&](const std::string& p) { return write_smtx(p, csr); }),
       [](const std::string& s, bool& good) { return outcome(parse_smtx(Exact(s).text(), "f"), good); }},
      {"matrix market", written([&](const std::string& p) { return write_matrix_market(p, csr); }),
       [](const std::string& s, bool& good) { return outcome(parse_matrix_market(Exact(s).text(), "f"), good); }},
  };
}

std::string deflate_raw(const std::string& content) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(content.size() + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string number(std::uint64_t value, int bytes) {
  std::string text(reinterpret_cast<const char*>(&value), sizeof value);
  text.resize(static_cast<std::size_t>(bytes), '\0');
  return text;
}

// One member, with the sizes that the caller claims.
std::string zip_of(std::string_view name, const std::string& packed, int method, std::uint32_t crc,
                   std::uint64_t size) {
  const std::string description = number(20, 2) + number(0, 2) + number(static_cast<std::uint64_t>(method), 2) +
                                  number(0, 4) + number(crc, 4) + number(packed.size(), 4) + number(size, 4) +
                                  number(name.size(), 2) + number(0, 2);
  const std::string local = number(0x04034b50, 4) + description + std::string(name) + packed;
  const std::string central =
      number(0x02014b50, 4) + number(20, 2) + description + number(0, 10) + number(0, 4) + std::string(name);
  return local + central + number(0x06054b50, 4) + number(0, 4) + number(1, 2) + number(1, 2) +
         number(central.size(), 4) + number(local.size(), 4) + number(0, 2);
}

std::uint32_t crc_of(const std::string& content) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
}

std::string deflated_zip(std::string_view name, const std::string& content) {
  return zip_of(name, deflate_raw(content), 8, crc_of(content), content.size());
}

TEST(Damage, EveryPrefix) {
  for (const Format& format : formats()) {
    bool good = false;
    format.parse(format.good, good);
    ASSERT_TRUE(good) << format.name;
    int accepted = 0;
    for (std::size_t size = 0; size < format.good.size(); ++size) {
      format.parse(format.good.substr(0, size), good);
      accepted += good ? 1 : 0;
    }
    // A text file may lose its last line end, and then digits of its last number.
    EXPECT_LE(accepted, 3) << format.name;
  }
}

TEST(Damage, EveryFlippedBit) {
  for (const Format& format : formats()) {
    int refused = 0;
    for (std::size_t bit = 0; bit < format.good.size() * 8; ++bit) {
      std::string bad = format.good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
      bool good = false;
      format.parse(bad, good);
      refused += good ? 0 : 1;
    }
    EXPECT_GT(refused, 50) << format.name;
  }
}

TEST(Damage, EveryByteReplaced) {
  for (const Format& format : formats()) {
    for (std::size_t at = 0; at < format.good.size(); ++at) {
      for (const char value : std::string("\x00\xff\x7f\x80 9-[\"", 9)) {
        std::string bad = format.good;
        bad[at] = value;
        bool good = false;
        format.parse(bad, good);
      }
    }
  }
}

std::string npz_error(const std::string& zip) { return parse_npz(Exact(zip).bytes(), "f").error().message; }

TEST(Damage, ZipBombsAreRefusedBeforeAllocation) {
  const std::string packed = deflate_raw(std::string(100, 'x'));
  const std::string size = std::to_string(packed.size());
  EXPECT_EQ(npz_error(zip_of("a.npy", packed, 8, 0, 4000000000U)),
            "f: member 'a.npy' declares 4000000000 bytes unpacked from " + size + ", which cannot be");
  EXPECT_EQ(npz_error(zip_of("a.npy", packed, 8, 0, 101)),
            "f: member 'a.npy' does not unpack to the 101 bytes that it declares");
  EXPECT_EQ(npz_error(zip_of("a.npy", packed, 8, 0, 99)),
            "f: member 'a.npy' does not unpack to the 99 bytes that it declares");
  EXPECT_THAT(npz_error(zip_of("a.npy", packed, 8, 0, 100)), HasSubstr("f: member 'a.npy' is damaged: its CRC-32 is"));
  EXPECT_EQ(npz_error(zip_of("a.npy", packed, 12, 0, 100)),
            "f: member 'a.npy' is packed by method 12: expected 0 (stored) or 8 (deflated)");
  EXPECT_EQ(npz_error("PK"), "f: expected a zip archive (.npz), found no zip directory in its 2 bytes");
}

TEST(Damage, NpyDiagnostics) {
  const auto error = [](const std::string& npy) { return parse_npy(Exact(npy).bytes(), "f").error().message; };
  const auto with = [](const std::string& dictionary) {
    return std::string("\x93NUMPY\x01\x00", 8) + number(dictionary.size(), 2) + dictionary;
  };
  EXPECT_EQ(error("abc"), "f: at byte 0: expected the .npy magic (6 bytes), found the end after 3 bytes");
  EXPECT_EQ(error("abcdefgh"), "f: at byte 0: expected the .npy magic \\x93NUMPY, found other bytes");
  EXPECT_EQ(error(std::string("\x93NUMPY\x04\x00", 8)), "f: .npy version 4.0: expected 1.0, 2.0 or 3.0");
  EXPECT_EQ(error(with("{'descr': '<f4'}")),
            "f: .npy header, character 16: expected descr, fortran_order and shape, found ''");
  EXPECT_EQ(error(with("{'descr': '<f4', 'fortran_order': 1}")),
            "f: .npy header, character 34: expected True or False, found '1}'");
  EXPECT_EQ(error(with("{'descr': '<f4', 'fortran_order': False, 'shape': (4,-1)}")),
            "f: .npy header, character 53: expected a size, found '-1)}'");
  EXPECT_EQ(error(with("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}")),
            "f: .npy of shape 4611686018427387904 has more than 2^63 bytes");
  EXPECT_EQ(error(with("{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}") + std::string(15, 'x')),
            "f: at byte 65: expected the elements (16 bytes), found the end after 15 bytes");
  EXPECT_EQ(error(with("{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}") + std::string(17, 'x')),
            "f: at byte 81: expected the end after shape 4 of f32, found 1 more bytes");
}

TEST(Damage, NpyBooleansBecomeZeroOrOne) {
  std::string npy = npy_header(DType::kBool, {3});
  npy += std::string("\x00\x01\x07", 3);
  const auto tensor = parse_npy(Exact(npy).bytes(), "f");
  ASSERT_TRUE(tensor);
  EXPECT_THAT(tensor->values<bool>(), testing::ElementsAre(false, true, true));
}

TEST(Damage, SafetensorsDiagnostics) {
  const auto error = [](const std::string& header, const std::string& data = "") {
    const Exact exact(number(header.size(), 8) + header + data);
    const auto result = parse_safetensors(exact.bytes(), exact.data, "f");
    return result ? "" : result.error().message;
  };
  EXPECT_EQ(parse_safetensors(Exact(number(200'000'000, 8)).bytes(), nullptr, "f").error().message,
            "f: a safetensors header of 200000000 bytes, expected at most 100000000");
  EXPECT_EQ(parse_safetensors(Exact(number(9, 8)).bytes(), nullptr, "f").error().message,
            "f: at byte 8: expected the safetensors header (9 bytes), found the end after 0 bytes");
  EXPECT_EQ(error("{}"), "");
  EXPECT_EQ(error("[]"), "f: at byte 8: expected the safetensors header, a JSON object of 2 bytes");
  EXPECT_EQ(error("{"), "f: at byte 8: expected the safetensors header, a JSON object of 1 bytes");
  EXPECT_EQ(error(R"({"a":[[[[[1]]]]]})"), "f: safetensors header nested deeper than 3 levels");
  EXPECT_EQ(error(R"({"__metadata__":{"k":1}})"), "f: expected metadata 'k' to be a string");
  EXPECT_EQ(error(R"({"a":{"dtype":"F32","shape":[1]}})"),
            "f: tensor 'a': expected an object with dtype, shape and data_offsets");
  EXPECT_EQ(error(R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "x"),
            "f: tensor 'a' is of type F8_E4M3: expected BOOL, U8 to U64, I8 to I64, F16, BF16, F32 or F64");
  EXPECT_EQ(error(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", "x"),
            "f: tensor 'a': expected shape to be a list of sizes");
  EXPECT_EQ(error(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,1]}})", "x"),
            "f: tensor 'a': expected 2 bytes for u8 of shape 2, found offsets 0..1");
  EXPECT_EQ(error(R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,1]}})", "x"),
            "f: tensor 'a' of shape 4294967296x4294967296 has more than 2^63 bytes");
  EXPECT_EQ(error(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "xx"),
            "f: tensor 'a' starts at 1, expected 0: tensors lie back to back");
  EXPECT_EQ(error(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "xx"),
            "f: the tensors take 1 bytes, but 2 follow the header");
  EXPECT_EQ(error(R"({"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", "\x02"),
            "f: tensor 'a' is BOOL but holds bytes other than 0 and 1");
}

TEST(Damage, SmtxDiagnostics) {
  const auto error = [](const char* text) { return parse_smtx(text, "f").error().message; };
  EXPECT_EQ(error("x"), "f: line 1: expected the number of rows, an integer in 0..9223372036854775806, found 'x'");
  EXPECT_EQ(error("1000000000, 4, 3\n0"),
            "f: line 1 declares 1000000000 rows and 3 non-zeros, more than the file can hold");
  EXPECT_EQ(error("2, 4, 3\n0 1\n"), "f: line 3: expected a row offset, an integer in 0..3, found ''");
  EXPECT_EQ(error("1, 4, 2\n0 2\n1 4\n"), "f: line 3: expected a column index, an integer in 0..3, found '4'");
  EXPECT_EQ(error("1, 4, 2\n0 2\n1 1\n"), "f: csr: column 1 appears twice in row 0");
  EXPECT_EQ(error("1, 4, 2\n0 2\n1 2 3\n"), "f: line 3: expected the end of the file, found '3'");
}

TEST(Damage, MatrixMarketDiagnostics) {
  const auto error = [](const std::string& text) { return parse_matrix_market(text, "f").error().message; };
  const std::string banner = "%%MatrixMarket matrix coordinate real general\n";
  EXPECT_EQ(error("3 3 1\n"), "f: line 1: expected '%%MatrixMarket matrix coordinate FIELD SYMMETRY', found '3 3 1'");
  EXPECT_EQ(
      error("%%MatrixMarket matrix array real general\n"),
      "f: Matrix Market 'matrix array real general': expected matrix coordinate, real, integer or pattern, general or "
      "symmetric");
  EXPECT_EQ(error(banner + "1000000000000 3 0\n"),
            "f: line 2 declares 1000000000000 rows, far more than the file has entries");
  EXPECT_EQ(error(banner + "3 3 100\n"), "f: line 2 declares 100 entries, more than the file can hold");
  EXPECT_EQ(error(banner + "3 3 1\n0 1 1\n"), "f: line 3: expected a row, an integer in 1..3, found '0 1 1'");
  EXPECT_EQ(error(banner + "3 3 1\n1 1 x\n"), "f: line 3: expected a value, a number, found 'x'");
  EXPECT_EQ(error(banner + "3 3 2\n1 1 1\n1 1 1\n"), "f: csr: column 0 appears twice in row 0");
  EXPECT_EQ(error("%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n"),
            "f: a symmetric matrix of 2 x 3, expected a square one");
}

}  // namespace
}  // namespace espalier::files
