#include "engine/run/machine/pack_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

// Models of two slots, which differ by a number, in a folder of the test's own.
class PackCacheTest : public ::testing::Test {
 protected:
  static GgufIdentity model(uint64_t number) { return {1000 + number, 5, 77, 88, 99}; }
  PackCache cache(uint64_t most_bytes = 1 << 20) const { return {folder(), most_bytes}; }
  std::string folder() const { return folder_.file("packed"); }
  std::string path(uint64_t number) const { return folder() + "/" + PackedFile::name(model(number)); }

  // Does what a run does: looks for the file, and packs and keeps one if there is none. Returns whether it found
  // a file.
  bool run(uint64_t number, uint64_t most_bytes = 1 << 20) {
    PackCache cache = this->cache(most_bytes);
    const bool found = cache.find(model(number), slot_bytes_).has_value();
    EXPECT_EQ(cache.wants(), !found);
    if (!found) cache.keep(slots_, {});
    EXPECT_FALSE(cache.wants());
    return found;
  }
  void age(uint64_t number, int hours) const {
    fs::last_write_time(path(number) + ".stamp", fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }
  static constexpr uint64_t kFile = 4 * 4096;  // a page of header, and slots of one and two pages

  const testing::ScratchFolder folder_;
  sync::Pool pool_;
  const std::vector<size_t> slot_bytes_ = {100, 5000};
  const std::vector<const sync::Slot*> slots_ = {&pool_.acquire(100, sync::SlotUse::weights, "a"),
                                                 &pool_.acquire(5000, sync::SlotUse::weights, "b")};
};

TEST_F(PackCacheTest, finds_what_was_kept_with_the_bytes_of_its_slots) {
  std::memset(slots_[0]->data(), 1, 100);
  std::memset(slots_[1]->data(), 2, 5000);
  EXPECT_FALSE(run(1));
  PackCache next = cache();
  auto found = next.find(model(1), slot_bytes_);
  ASSERT_TRUE(found);
  EXPECT_EQ(fs::file_size(path(1)), kFile);
  const sync::FilePart parts[] = {{0, slot_bytes_[0], "a"}, {0, slot_bytes_[1], "b"}};
  sync::Pool pool;
  const auto mapped = found->map(pool, parts);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(std::memcmp(mapped[i]->data(), slots_[i]->data(), slots_[i]->size_bytes()), 0) << i;
  EXPECT_FALSE(run(2)) << "another model";
  EXPECT_TRUE(run(1));
  EXPECT_TRUE(run(2));
}

// Two processes begin together: both find nothing. Each ends with a file, whatever the other one does.
TEST_F(PackCacheTest, gives_each_of_two_writers_a_file_that_the_other_cannot_take_away) {
  PackCache first = cache(kFile), second = cache(kFile);
  EXPECT_FALSE(first.find(model(1), slot_bytes_).has_value());
  EXPECT_FALSE(second.find(model(1), slot_bytes_).has_value());
  const auto of_first = first.keep(slots_, {});
  ASSERT_TRUE(of_first);
  const PackedFile of_second = second.write([this](PackedFileWriter& file) {
    EXPECT_TRUE(fs::exists(path(1))) << "the first one's file stays until it is replaced";
    for (const sync::Slot* slot : slots_) file.write({slot->data(), slot->size_bytes()});
  });
  EXPECT_TRUE(run(1)) << "the file and its stamp belong together";
  fs::remove(path(1));
  for (const PackedFile* file : {&*of_first, &of_second}) {
    std::vector<std::byte> bytes(file->bytes_of_slots(0, 2));
    EXPECT_NO_THROW(file->copy_slots(0, 2, bytes.data()));
  }
}

TEST_F(PackCacheTest, writes_a_damaged_file_anew) {
  run(1);
  fs::resize_file(path(1), kFile - 1);
  EXPECT_FALSE(run(1));
  EXPECT_EQ(fs::file_size(path(1)), kFile);
  EXPECT_TRUE(run(1));
}

TEST_F(PackCacheTest, writes_a_file_anew_that_somebody_has_written_to) {
  run(1);
  const auto date = fs::last_write_time(path(1));
  std::fstream(path(1), std::ios::in | std::ios::out | std::ios::binary).seekp(4096 + 99).put('x');
  fs::last_write_time(path(1), date);
  EXPECT_FALSE(run(1)) << "its date is what it was";
  EXPECT_TRUE(run(1));
  fs::remove(path(1) + ".stamp");
  EXPECT_FALSE(run(1)) << "nothing says what it was";
  EXPECT_TRUE(run(1));
}

TEST_F(PackCacheTest, removes_what_has_not_been_used_for_longest) {
  for (const uint64_t number : {1, 2, 3}) run(number);
  age(1, 3);
  age(2, 5);
  age(3, 4);
  EXPECT_TRUE(run(2)) << "it is used now";
  run(4, 3 * kFile);
  EXPECT_FALSE(fs::exists(path(3)));
  EXPECT_FALSE(fs::exists(path(3) + ".stamp"));
  for (const uint64_t number : {1, 2, 4}) EXPECT_TRUE(fs::exists(path(number))) << number;
}

TEST_F(PackCacheTest, keeps_no_model_that_is_larger_than_the_folder_may_be) {
  run(1);
  run(2, kFile - 1);
  EXPECT_FALSE(fs::exists(path(2)));
  EXPECT_TRUE(fs::exists(path(1))) << "and removes nothing for it";
}

TEST_F(PackCacheTest, removes_what_a_killed_process_has_left_and_not_what_one_is_writing) {
  run(1);
  const std::string old = path(7) + ".part1", fresh = path(8) + ".part2";
  for (const std::string& name : {old, fresh}) std::ofstream(name) << "half";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(30));
  run(2);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh));
}

TEST_F(PackCacheTest, does_without_a_folder_it_cannot_write_to) {
  std::ofstream(folder_.file("packed")) << "a file stands where the folder should be";
  EXPECT_FALSE(run(1));
  EXPECT_FALSE(run(1));
  PackCache off("", 1 << 20);
  EXPECT_FALSE(off.on());
  EXPECT_FALSE(off.find(model(1), slot_bytes_));
  EXPECT_FALSE(off.wants());
}

}  // namespace
}  // namespace tandem
