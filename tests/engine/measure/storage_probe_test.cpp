// The rate of a file's storage.
#include "engine/measure/storage_probe.h"

#include <gtest/gtest.h>

#include <fstream>

#include "sync/error.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

std::string file_of(const testing::ScratchFolder& folder, size_t bytes) {
  const std::string path = folder.file("file");
  std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
  return path;
}

TEST(StorageProbe, reads_a_file_and_says_how) {
  const testing::ScratchFolder folder;
  const auto rate = storage_rate(file_of(folder, (size_t{3} << 20) + 5));
  ASSERT_TRUE(rate.has_value());
  EXPECT_GT(rate->bytes_per_second, 0);
  EXPECT_NE(rate->how.find("page cache"), std::string::npos);
}

TEST(StorageProbe, has_no_rate_for_a_file_below_a_megabyte) {
  const testing::ScratchFolder folder;
  EXPECT_FALSE(storage_rate(file_of(folder, 1000)).has_value());
}

TEST(StorageProbe, names_a_file_that_is_not_there) {
  const testing::ScratchFolder folder;
  EXPECT_THROW(storage_rate(folder.file("absent")), Error);
}

}  // namespace
}  // namespace tandem
