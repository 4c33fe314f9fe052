#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <espalier/sparse.hpp>

namespace espalier {
namespace {

using testing::HasSubstr;

TEST(Pattern, PrintsAndParsesBack) {
  for (const char* text : {"dense", "block:8x8", "block:16x4", "block:3x5", "nm:2:4", "nm:1:32", "nm:4:4", "nm:2:4:v32",
                           "vnm:64:2:8", "unstructured"}) {
    const auto pattern = parse_pattern(text);
    ASSERT_TRUE(pattern) << pattern.error().message;
    EXPECT_EQ(to_string(*pattern), text);
  }
  EXPECT_EQ(*parse_pattern("nm:2:4:v1"), Pattern(Nm{2, 4, 1}));
  EXPECT_EQ(*parse_pattern("vnm:64:2:8"), Pattern(Vnm{64, 2, 8}));
  EXPECT_EQ(*parse_pattern("block:16x4"), Pattern(Block{16, 4}));
}

TEST(Pattern, RefusesWhatTheGrammarLacks) {
  for (const char* text :
       {"",          "blocks:8x8",   "block",       "block:8",        "block:8x",
        "block:x8",  "block:8x8x8",  "block:8x8:2", "block:a8x8",     "nm:2",
        "nm:2:4:32", "nm:2:4:v",     "nm:2:4:v3:1", "nm:2.0:4",       "nm: 2:4",
        "vnm:64:2",  "vnm:64:2:8:1", "dense:1",     "unstructured:2", "block:99999999999999999999x1"}) {
    const auto pattern = parse_pattern(text);
    ASSERT_FALSE(pattern) << text;
    EXPECT_EQ(pattern.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(pattern.error().message,
                HasSubstr("unknown pattern '" + std::string(text) + "': expected dense, block:RxC"));
  }
}

TEST(Pattern, RefusesSizes) {
  const auto message = [](const char* text) { return parse_pattern(text).error().message; };
  EXPECT_THAT(message("block:0x8"), HasSubstr("pattern 'block:0x8': sizes are 1 to 65536; expected dense"));
  EXPECT_THAT(message("block:8x-1"), HasSubstr("sizes are 1 to 65536"));
  EXPECT_THAT(message("block:8x65537"), HasSubstr("sizes are 1 to 65536"));
  EXPECT_THAT(message("nm:0:4"), HasSubstr("sizes are 1 to 65536"));
  EXPECT_THAT(message("nm:2:4:v0"), HasSubstr("sizes are 1 to 65536"));
  EXPECT_THAT(message("nm:1:9223372036854775807"), HasSubstr("sizes are 1 to 65536"));
  EXPECT_THAT(message("nm:5:4"), HasSubstr("pattern 'nm:5:4': cannot keep 5 of 4"));
  EXPECT_THAT(message("vnm:64:5:8"), HasSubstr("cannot keep 5 of the 4 columns"));
  EXPECT_THAT(message("vnm:64:2:3"), HasSubstr("M is at least 4"));
}

}  // namespace
}  // namespace espalier
