// Sparse matrices in safetensors files: what is written, read back, and refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <espalier/files.hpp>
#include <filesystem>
#include <limits>

#include "base/mapped_file.hpp"
#include "base/testing/temporary_folder.hpp"
#include "sparse/files/parse.hpp"
#include "sparse/random_matrix.hpp"

namespace espalier::files {
namespace {

using sparse::random_matrix;
using testing::HasSubstr;

class Matrices : public testing::Test {
 protected:
  Matrices() {}
  std::string path() const { return (std::filesystem::path(folder_.path()) / "m.safetensors").string(); }
  const TemporaryFolder folder_;
};

NmSparse nm_matrix(std::int64_t rows, std::int64_t cols, Nm nm) {
  return *encode_nm(random_matrix(rows, cols, DType::kF32, 3), sparse::random_nm_mask(rows, cols, nm, 4), nm);
}

std::vector<NamedMatrix> all_kinds() {
  const Tensor w = random_matrix(37, 29, DType::kF32, 1);
  std::vector<NamedMatrix> matrices;
  for (const Block block : {Block{8, 8}, Block{1, 16}, Block{5, 3}})
    matrices.push_back({"block " + to_string(Pattern(block)),
                        *encode_block(w, sparse::random_block_mask(37, 29, block, 0.4, 2), block)});
  for (const Nm nm : {Nm{2, 4, 1}, Nm{1, 4, 1}, Nm{2, 4, 4}, Nm{4, 8, 1}, Nm{3, 4, 1}})
    matrices.push_back({to_string(Pattern(nm)), nm_matrix(37, 29, nm)});
  matrices.push_back({"csr", *encode_csr(w, sparse::random_mask(37, 29, 0.2, 5))});
  matrices.push_back({"empty", *encode_csr(Tensor(DType::kF32, {0, 5}))});
  return matrices;
}

Tensor dense_of(const SparseMatrix& matrix) {
  return std::visit([](const auto& m) { return decode(m); }, matrix);
}

TEST_F(Matrices, ComeBackAsTheyWere) {
  const std::vector<NamedMatrix> written = all_kinds();
  ASSERT_TRUE(write_matrices(path(), written));
  const auto read = read_matrices(path());
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), written.size());
  for (const NamedMatrix& matrix : written) {
    const auto found =
        std::find_if(read->begin(), read->end(), [&](const NamedMatrix& m) { return m.name == matrix.name; });
    ASSERT_NE(found, read->end()) << matrix.name;
    EXPECT_EQ(found->matrix.index(), matrix.matrix.index());
    EXPECT_TRUE(sparse::same_bytes(dense_of(found->matrix), dense_of(matrix.matrix))) << matrix.name;
    if (const auto* const nm = std::get_if<NmSparse>(&matrix.matrix)) {
      EXPECT_EQ(std::get<NmSparse>(found->matrix).pattern, nm->pattern);
      EXPECT_TRUE(sparse::same_bytes(std::get<NmSparse>(found->matrix).positions, nm->positions)) << matrix.name;
    }
  }
}

// The bytes that docs/formats.md shows.
TEST_F(Matrices, PositionsOfFourTakeTwoBits) {
  const Tensor w = Tensor::of<float>({2, 8}, {1, 2, 0, 0, 0, 0, 3, 4, 5, 0, 6, 0, 0, 7, 8, 0});
  ASSERT_TRUE(write_matrices(path(), {{"w", *encode_nm(w, Nm{2, 4, 1})}, {"v", *encode_nm(w, Nm{2, 4, 1})}}));
  const auto contents = read_safetensors(path());
  ASSERT_TRUE(contents);
  EXPECT_EQ(contents->metadata.at("espalier.matrix.w"), "nm:2:4 2x8");
  for (const NamedTensor& named : contents->tensors) {
    if (named.name != "w.positions") continue;
    EXPECT_EQ(named.tensor.shape(), (Shape{2, 1}));
    EXPECT_EQ(named.tensor.values<std::uint8_t>()[0], 0xE4);
    EXPECT_EQ(named.tensor.values<std::uint8_t>()[1], 0x98);
  }
}

TEST_F(Matrices, NamesAreTakenOnce) {
  const NmSparse w = nm_matrix(4, 8, {2, 4, 1});
  const Status twice = write_matrices(path(), {{"w", w}, {"w", w}});
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("the name 'w' is taken"));
}

TEST_F(Matrices, TensorsOfNoMatrixAreLeftOut) {
  ASSERT_TRUE(write_safetensors(path(), {.tensors = {{"w.values", Tensor(DType::kF32, {2})}}, .metadata = {}}));
  EXPECT_TRUE(read_matrices(path())->empty());
}

std::string refusal(std::string description, std::vector<NamedTensor> tensors) {
  const auto parsed =
      parse_matrices({.tensors = std::move(tensors), .metadata = {{"espalier.matrix.w", std::move(description)}}}, "f");
  return parsed ? "nothing" : parsed.error().message;
}

TEST(MatricesRefuse, WhatDoesNotFit) {
  const Tensor values = Tensor::of<float>({1, 4}, {1, 2, 3, 4});
  const auto positions = [](Shape shape, std::initializer_list<std::uint8_t> bytes) {
    return NamedTensor{"w.positions", Tensor::of<std::uint8_t>(std::move(shape), bytes)};
  };
  const NamedTensor named{"w.values", values};
  EXPECT_EQ(refusal("nm:2:4 1x8", {named, positions({1, 1}, {0xE4})}), "nothing");
  // A code that does not ascend: 0 0, of the first group.
  EXPECT_THAT(refusal("nm:2:4 1x8", {named, positions({1, 1}, {0xE0})}),
              HasSubstr("f: matrix 'w': n:m sparse: position 0 in group 0 of vector row 0, expected ascending"));
  EXPECT_THAT(refusal("nm:2:4 1x8", {named, positions({1, 4}, {0, 1, 2, 3})}),
              HasSubstr("matrix 'w'.positions: expected u8 1x1 (2 bits each), found u8 1x4"));
  EXPECT_THAT(refusal("nm:2:4 1x4", {{"w.values", Tensor(DType::kF32, {1, 2})}, positions({1, 1}, {0xE4})}),
              HasSubstr("row 0 has bits set in its padding"));
  EXPECT_THAT(refusal("nm:2:4 1x8", {named}), HasSubstr("has no tensor 'w.positions'"));
  EXPECT_THAT(refusal("nm:2:4", {named}), HasSubstr("expected 'PATTERN ROWSxCOLS'"));
  EXPECT_THAT(refusal("nm:2:4 1x-8", {named}), HasSubstr("expected 'PATTERN ROWSxCOLS'"));
  EXPECT_THAT(refusal("stripes 1x8", {named}), HasSubstr("stripes"));
  EXPECT_THAT(refusal("dense 1x8", {named, {"w.row_starts", Tensor(DType::kI32, {2})}}),
              HasSubstr("no format holds the pattern dense"));
  EXPECT_THAT(refusal("block:2x2 2x4", {named, {"w.row_starts", Tensor(DType::kF32, {2})}}),
              HasSubstr("matrix 'w'.row_starts"));
  EXPECT_THAT(refusal("unstructured 9223372036854775807x2", {named}), HasSubstr("more than 2^63 entries"));
  EXPECT_THAT(refusal("nm:2:4 4000000000000000x8", {named, positions({1, 1}, {0xE4})}), HasSubstr("expected u8"));
}

// Every byte of a small file changed, one at a time.
TEST_F(Matrices, DamageIsRefusedOrStillValid) {
  ASSERT_TRUE(write_matrices(path(), {{"b", *encode_block(random_matrix(4, 6, DType::kF32, 1), Block{2, 2})},
                                      {"n", nm_matrix(3, 9, {2, 4, 1})},
                                      {"c", *encode_csr(random_matrix(3, 3, DType::kF32, 1))}}));
  const auto mapped = MappedFile::open(path());
  ASSERT_TRUE(mapped);
  const std::vector<std::byte> whole(mapped->data(), mapped->data() + mapped->size());
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const int flip : {1, 8, 128}) {
      const auto damaged = std::make_shared<std::vector<std::byte>>(whole);
      (*damaged)[at] ^= static_cast<std::byte>(flip);
      const auto contents = parse_safetensors(*damaged, std::shared_ptr<const void>(damaged, damaged->data()), "f");
      if (!contents) continue;
      const auto matrices = parse_matrices(*contents, "f");
      refused += matrices ? 0 : 1;
      if (!matrices) continue;
      for (const NamedMatrix& matrix : *matrices) dense_of(matrix.matrix);
    }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace espalier::files
