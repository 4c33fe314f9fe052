// Writing through a temporary file, and mapping what was written.
#include "base/file_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/mapped_file.hpp"
#include "base/testing/temporary_folder.hpp"

namespace espalier {
namespace {

using ::testing::HasSubstr;

class FileWriterTest : public ::testing::Test {
 protected:
  FileWriterTest() {}

  std::string path(const char* name) const { return (directory_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(directory_), std::filesystem::directory_iterator()));
  }

  const TemporaryFolder folder_;
  const std::filesystem::path directory_ = folder_.path();
};

TEST_F(FileWriterTest, ShowsTheFileOnlyWhenComplete) {
  {
    auto writer = FileWriter::create(path("a"));
    ASSERT_TRUE(writer) << writer.error().message;
    ASSERT_TRUE(writer->write("xyz", 3));
    ASSERT_TRUE(writer->pad_to(8));
    EXPECT_EQ(writer->position(), 8);
    EXPECT_FALSE(std::filesystem::exists(path("a")));
    ASSERT_TRUE(writer->commit());
  }
  EXPECT_EQ(files(), 1U);
  const auto mapped = MappedFile::open(path("a"));
  ASSERT_TRUE(mapped) << mapped.error().message;
  ASSERT_EQ(mapped->size(), 8U);
  EXPECT_EQ(std::memcmp(mapped->data(), "xyz\0\0\0\0\0", 8), 0);
}

TEST_F(FileWriterTest, LeavesNothingWithoutCommit) {
  {
    auto writer = FileWriter::create(path("a"));
    ASSERT_TRUE(writer) << writer.error().message;
    ASSERT_TRUE(writer->write("xyz", 3));
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(FileWriterTest, ReplacesAFileThatIsMapped) {
  for (const char* text : {"old", "new"}) {
    const auto before = MappedFile::open(path("a"));
    auto writer = FileWriter::create(path("a"));
    ASSERT_TRUE(writer && writer->write(text, 3) && writer->commit());
    if (before) {
      EXPECT_EQ(std::memcmp(before->data(), "old", 3), 0);
    }
  }
  EXPECT_EQ(std::memcmp(MappedFile::open(path("a"))->data(), "new", 3), 0);
}

TEST_F(FileWriterTest, NamesThePathInErrors) {
  const auto writer = FileWriter::create(path("missing/a"));
  ASSERT_FALSE(writer);
  EXPECT_THAT(writer.error().message, HasSubstr("missing/a: cannot be written: No such file"));
  const auto mapped = MappedFile::open(path("nothing"));
  ASSERT_FALSE(mapped);
  EXPECT_EQ(mapped.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(mapped.error().message, HasSubstr("nothing: cannot be opened: No such file"));
  const auto directory = MappedFile::open(directory_.string());
  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message, HasSubstr("expected a regular file"));
}

TEST_F(FileWriterTest, FollowsLinksAndKeepsPermissions) {
  namespace fs = std::filesystem;
  for (const char* name : {"a", "link"}) {
    if (fs::path(name) == "link") fs::create_symlink(path("a"), path("link"));
    auto writer = FileWriter::create(path(name));
    ASSERT_TRUE(writer && writer->write("new", 3) && writer->commit());
    fs::permissions(path("a"), fs::perms::owner_read | fs::perms::owner_write);
  }
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  auto again = FileWriter::create(path("a"));
  ASSERT_TRUE(again && again->commit());
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(files(), 2U);
}

TEST_F(FileWriterTest, WritesToDevicesInsteadOfReplacingThem) {
  namespace fs = std::filesystem;
  for (const char* device : {"/dev/null", "/dev/full"}) {
    const std::string link = path(device + 5);
    if (!fs::is_character_file(device)) GTEST_SKIP() << "needs " << device;
    fs::create_symlink(device, link);
    auto writer = FileWriter::create(link);
    ASSERT_TRUE(writer) << writer.error().message;
    const Status written = writer->write("new", 3);
    EXPECT_EQ(static_cast<bool>(written), std::string_view(device) == "/dev/null");
    if (!written) {
      EXPECT_THAT(written.error().message, HasSubstr("No space left"));
    } else {
      EXPECT_TRUE(writer->commit());
    }
    EXPECT_TRUE(fs::is_character_file(device));
    EXPECT_TRUE(fs::is_symlink(link));
  }
  EXPECT_FALSE(FileWriter::create(directory_.string()));
}

TEST_F(FileWriterTest, MapsAnEmptyFile) {
  auto writer = FileWriter::create(path("empty"));
  ASSERT_TRUE(writer && writer->commit());
  const auto mapped = MappedFile::open(path("empty"));
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->size(), 0U);
}

}  // namespace
}  // namespace espalier
