// The files that devices keep on disk have a size limit. The files that were used last stay.
#include "engine/device/gpu/kept_file.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/support/scratch_folder.h"

namespace tandem::gpu {
namespace {

TEST(KeptFiles, that_were_used_last_stay) {
  const testing::ScratchFolder folder;
  const auto now = std::filesystem::file_time_type::clock::now();
  for (int i = 0; i < 4; ++i) {
    const std::string path = folder.file("program" + std::to_string(i));
    std::ofstream(path) << std::string(100, 'x');
    std::filesystem::last_write_time(path, now - std::chrono::hours(24 * (10 - i)));
  }
  EXPECT_EQ(keep_newest(folder.file(""), 400), 0);
  mark_as_used(folder.file("program0"));
  EXPECT_EQ(keep_newest(folder.file(""), 250), 2);
  EXPECT_TRUE(std::filesystem::exists(folder.file("program0")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("program1")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("program2")));
  EXPECT_TRUE(std::filesystem::exists(folder.file("program3")));
  EXPECT_EQ(keep_newest(folder.file("nowhere"), 1), 0);
}

}  // namespace
}  // namespace tandem::gpu
