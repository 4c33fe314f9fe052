// Laws of the formats over random sizes, types and masks.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <espalier/sparse.hpp>

#include "sparse/generate.hpp"

namespace espalier {
namespace {

using namespace sparse;

bool same(const IndexArray& a, const IndexArray& b) { return same_bytes(a.tensor(), b.tensor()); }

RC_GTEST_PROP(FormatLaws, BlockDecodeUndoesEncode, ()) {
  const Masked m = generate_masked();
  const auto encoded = encode_block(m.dense, m.mask, generate_block());
  RC_ASSERT(encoded.has_value());
  RC_ASSERT(validate(*encoded).has_value());
  RC_ASSERT(same_bytes(decode(*encoded), *apply_mask(m.dense, m.mask)));
}

RC_GTEST_PROP(FormatLaws, CsrDecodeUndoesEncode, ()) {
  const Masked m = generate_masked();
  const auto encoded = encode_csr(m.dense, m.mask);
  RC_ASSERT(encoded.has_value());
  RC_ASSERT(validate(*encoded).has_value());
  RC_ASSERT(same_bytes(decode(*encoded), *apply_mask(m.dense, m.mask)));
}

RC_GTEST_PROP(FormatLaws, NmDecodeUndoesEncode, ()) {
  const Nm nm = generate_nm();
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const std::int64_t rows = generate_size(0, 20), cols = generate_size(0, 70);
  const Tensor dense = random_matrix(rows, cols, generate_value_type(), seed);
  const Mask mask = random_nm_mask(rows, cols, nm, seed + 1);
  const auto encoded = encode_nm(dense, mask, nm);
  RC_ASSERT(encoded.has_value());
  RC_ASSERT(validate(*encoded).has_value());
  RC_ASSERT(same_bytes(decode(*encoded), *apply_mask(dense, mask)));
  RC_ASSERT(same_bytes(decode(to_csr(*encoded)), *apply_mask(dense, mask)));
}

RC_GTEST_PROP(FormatLaws, NmIsRefusedExactlyWhenTheMaskBreaksIt, ()) {
  const Masked m = generate_masked();
  const Nm nm = generate_nm();
  RC_ASSERT(encode_nm(m.dense, m.mask, nm).has_value() == check_mask(m.mask, nm).has_value());
}

RC_GTEST_PROP(FormatLaws, TransposeTwiceIsTheIdentity, ()) {
  const Masked m = generate_masked();
  const auto blocks = *encode_block(m.dense, m.mask, generate_block());
  const BlockSparse twice = transpose(transpose(blocks));
  RC_ASSERT(same(twice.row_starts, blocks.row_starts) && same(twice.block_cols, blocks.block_cols));
  RC_ASSERT(same_bytes(twice.values, blocks.values));
  const auto csr = *encode_csr(m.dense, m.mask);
  const Csr csr_twice = transpose(transpose(csr));
  RC_ASSERT(same(csr_twice.row_starts, csr.row_starts) && same(csr_twice.cols_of, csr.cols_of));
  RC_ASSERT(same_bytes(csr_twice.values, csr.values));
}

RC_GTEST_PROP(FormatLaws, ConversionsAgreeWithEncoding, ()) {
  const Masked m = generate_masked();
  const Block block = generate_block(), other = generate_block();
  const auto direct = *encode_block(m.dense, m.mask, block);
  const auto converted = *to_block(*encode_csr(m.dense, m.mask), block);
  RC_ASSERT(same(converted.row_starts, direct.row_starts) && same(converted.block_cols, direct.block_cols));
  RC_ASSERT(same_bytes(converted.values, direct.values));
  RC_ASSERT(same_bytes(decode(to_csr(direct)), decode(direct)));
  RC_ASSERT(same_bytes(decode(*to_block(direct, other)), decode(direct)));
  RC_ASSERT(same_bytes(to_block(*to_block(direct, other), other)->values, to_block(direct, other)->values));
}

RC_GTEST_PROP(FormatLaws, PatternsPrintAndParseBack, ()) {
  const Pattern pattern = generate_pattern();
  RC_ASSERT(*parse_pattern(to_string(pattern)) == pattern);
}

}  // namespace
}  // namespace espalier
