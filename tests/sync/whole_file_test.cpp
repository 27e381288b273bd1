// A file is either complete or unchanged.
#include "sync/whole_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <iterator>

#include "sync/error.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

ptrdiff_t files_in(const std::string& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator{});
}

TEST(WholeFile, replaces_what_was_there_only_when_it_is_whole) {
  const testing::ScratchFolder folder;
  const std::string path = folder.file("kept");
  write_whole_file(path, "before");
  {
    WholeFile abandoned(path);
    abandoned.write(std::as_bytes(std::span("half", 4)));
    EXPECT_EQ(read_file_if_there(path), "before");
  }
  EXPECT_EQ(read_file_if_there(path), "before");
  EXPECT_EQ(files_in(folder.file("")), 1) << "nothing beside it";
  WholeFile file(path);
  file.write(std::as_bytes(std::span("af", 2)));
  file.write(std::as_bytes(std::span("ter", 3)));
  file.commit();
  EXPECT_EQ(read_file_if_there(path), "after");
  EXPECT_EQ(files_in(folder.file("")), 1);
}

TEST(WholeFile, says_which_file_cannot_be_written_and_leaves_nothing) {
  const testing::ScratchFolder folder;
  const std::string nowhere = folder.file("nowhere/kept");
  try {
    write_whole_file(nowhere, "x");
    FAIL() << "a folder that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.object(), nowhere);
  }
  std::filesystem::create_directory(folder.file("taken"));
  EXPECT_THROW(write_whole_file(folder.file("taken"), "x"), Error) << "a folder of that name";
  EXPECT_EQ(files_in(folder.file("")), 1);
}

TEST(WholeFile, tells_a_file_that_is_not_there_from_one_that_cannot_be_read) {
  const testing::ScratchFolder folder;
  EXPECT_EQ(read_file_if_there(folder.file("nothing")), std::nullopt);
  EXPECT_THROW(read_file_if_there(folder.file("")), Error);
  ASSERT_EQ(mkfifo(folder.file("fifo").c_str(), 0600), 0);
  EXPECT_THROW(read_file_if_there(folder.file("fifo")), Error) << "nobody writes to it";
  EXPECT_THROW(read_file_if_there("/dev/zero"), Error) << "it has no end";
}

// A damaged file in a cache folder must not take all memory.
TEST(WholeFile, tells_of_a_file_that_is_too_large_to_be_read) {
  const testing::ScratchFolder folder;
  const std::string path = folder.file("sparse");
  write_whole_file(path, "begin");
  std::filesystem::resize_file(path, size_t{1} << 20);
  EXPECT_EQ(read_file_if_there(path).value().size(), size_t{1} << 20);
  for (const uint64_t bytes : {uint64_t{kMostReadBytes} + 1, uint64_t{1} << 40}) {
    std::filesystem::resize_file(path, bytes);
    EXPECT_THROW(read_file_if_there(path), Error) << bytes;
  }
}

}  // namespace
}  // namespace tandem
