// The amount of free memory according to the system's files.
#include "sync/memory_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sync/error.h"
#include "tests/support/message_of.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

class Room : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(std::filesystem::path(folder_.file(name)).parent_path());
    std::ofstream(folder_.file(name)) << content;
  }
  std::optional<MemoryRoom> room() const { return memory_room(folder_.file("proc"), folder_.file("groups")); }

  const testing::ScratchFolder folder_;
};

TEST_F(Room, is_what_the_machine_has_left_and_what_it_may_drop) {
  EXPECT_FALSE(room());
  write("proc/meminfo", "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable: 3000 kB\nSwapFree: 1000 kB\n");
  EXPECT_EQ(room()->bytes, 4000u * 1024);
  EXPECT_EQ(room()->whose, "this machine");
}

// Containers hide such files behind /dev/null or a folder.
TEST_F(Room, is_not_known_where_the_files_of_the_system_are_hidden) {
  write("proc/meminfo/inside", "");
  std::filesystem::create_directories(folder_.file("proc/self"));
  std::filesystem::create_symlink("/dev/null", folder_.file("proc/self/cgroup"));
  EXPECT_FALSE(room());
  EXPECT_FALSE(group_room(folder_.file("proc"), folder_.file("groups")));
}

TEST_F(Room, is_the_least_of_all_groups_above) {
  write("proc/meminfo", "MemAvailable: 3000 kB\nSwapFree: 0 kB\n");
  write("proc/self/cgroup", "0::/box/inner\n");
  write("groups/box/inner/memory.max", "max\n");
  write("groups/box/inner/memory.current", "1000\n");
  EXPECT_EQ(room()->whose, "this machine");
  write("groups/box/memory.max", "500000\n");
  write("groups/box/memory.current", "450000\n");
  write("groups/box/memory.stat", "anon 1\ninactive_file 100000\nactive_file 50000\n");
  EXPECT_EQ(room()->bytes, 200000u);
  EXPECT_EQ(room()->whose, "the control group /box");
}

TEST_F(Room, reads_the_first_version_of_groups_too) {
  write("proc/self/cgroup", "9:cpu:/other\n4:memory:/box\n");
  write("groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("groups/memory/memory.usage_in_bytes", "5000\n");
  write("groups/memory/box/memory.limit_in_bytes", "10000\n");
  write("groups/memory/box/memory.usage_in_bytes", "12000\n");
  EXPECT_EQ(room()->bytes, 0u) << "more in use than allowed";
  write("groups/memory/box/memory.stat", "total_inactive_file 4000\ntotal_active_file 5000\n");
  EXPECT_EQ(room()->bytes, 7000u);
  EXPECT_EQ(room()->whose, "the control group /box");
}

TEST_F(Room, of_groups_is_none_without_a_limit) {
  write("proc/meminfo", "MemAvailable: 3000 kB\nSwapFree: 0 kB\n");
  write("proc/self/cgroup", "4:memory:/\n");
  write("groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("groups/memory/memory.usage_in_bytes", "5000\n");
  EXPECT_FALSE(group_room(folder_.file("proc"), folder_.file("groups")));
  EXPECT_EQ(room()->whose, "this machine");
}

// The group has 100 MB, and this process has already written 10 of them.
TEST_F(Room, is_kept_for_what_was_promised_and_is_not_written_yet) {
  const auto written = [&](int megabytes) {
    write("proc/self/status", "VmRSS: 99 kB\nRssAnon: " + std::to_string(megabytes * 1000) + " kB\n");
    write("groups/box/memory.current", std::to_string(megabytes * 1024000) + "\n");
  };
  write("proc/self/cgroup", "0::/box\n");
  write("groups/box/memory.max", "102400000\n");
  written(10);
  PromisedMemory memory(folder_.file("proc"), folder_.file("groups"));
  memory.add(50'000'000, "weights");
  EXPECT_THAT(test::message_of([&] { memory.add(40'000'000, "activations"); }),
              HasSubstr("98.4 MB wanted, and the control group /box has 92.2 MB: activations"));
  written(60);  // all weights
  EXPECT_THAT(test::message_of([&] { memory.add(40'000'000, "activations"); }),
              HasSubstr("47.2 MB wanted, and the control group /box has 41.0 MB"));
  memory.add(30'000'000, "activations of a shorter prompt");
}

TEST_F(Room, that_is_too_small_is_an_error_with_what_was_wanted) {
  const MemoryRoom small{2'500'000, "the control group /box"};
  require_memory(2'500'000, "weights", small);
  require_memory(1, "weights", std::nullopt);
  EXPECT_EQ(test::message_of([&] { require_memory(7'200'000, "the weights of m.gguf", small); }),
            "out of memory: 7.2 MB wanted, and the control group /box has 2.5 MB: the weights of m.gguf. Take a "
            "smaller model, or allow more memory");
}

}  // namespace
}  // namespace tandem
