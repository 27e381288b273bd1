#include "engine/device/proof/compiled_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/support/scratch_folder.h"

namespace tandem::proof {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CompiledFilesOf : public ::testing::Test {
 protected:
  void SetUp() override {
    write("kernel.so", "machine code");
    write("last_accessed", "");
  }
  void write(const std::string& name, const std::string& content) const {
    fs::create_directories(folder_ + "/program");
    std::ofstream(folder_ + "/program/" + name, std::ios::trunc) << content;
  }
  std::string at(const std::string& name) const { return folder_ + "/program/" + name; }
  // Asks as another process does.
  bool known() const { return CompiledFiles(record_, folder_).knows(kKey); }
  void make_known() const { CompiledFiles(record_, folder_).add(std::array{kKey}); }

  static constexpr uint64_t kKey = 0xfedcba9876543210;
  const testing::ScratchFolder scratch_;
  const std::string record_ = scratch_.file("record"), folder_ = scratch_.file("kcache");
};

TEST_F(CompiledFilesOf, a_driver_are_known_to_other_processes_while_they_stay_as_they_are) {
  EXPECT_FALSE(known());
  make_known();
  EXPECT_TRUE(known());
  EXPECT_FALSE(CompiledFiles(record_, folder_).knows(kKey + 1));
}

// A damaged file may have its old time.
TEST_F(CompiledFilesOf, a_driver_are_not_known_when_one_of_them_was_damaged_in_any_way) {
  const std::function<void()> damages[] = {
      [&] { write("kernel.so", ""); },
      [&] { write("kernel.so", "machine"); },
      [&] { write("kernel.so", "MACHINE CODE"); },
      [&] { std::ofstream(at("kernel.so"), std::ios::app) << "garbage"; },
      [&] { fs::permissions(at("kernel.so"), fs::perms::none); },
      [&] { fs::remove(at("kernel.so")); },
      [&] { fs::remove(at("kernel.so")), fs::create_directory(at("kernel.so")); },
      [&] { fs::remove(at("last_accessed")), fs::create_directory(at("last_accessed")); },
      [&] {
        const auto time = fs::last_write_time(at("kernel.so"));
        write("kernel.so", "maschinecode");
        fs::last_write_time(at("kernel.so"), time);
      },
  };
  int number = 0;
  for (const auto& damage : damages) {
    fs::remove_all(folder_);
    SetUp();
    make_known();
    ASSERT_TRUE(known());
    damage();
    EXPECT_FALSE(known()) << "damage " << number;
    ++number;
  }
}

TEST_F(CompiledFilesOf, a_driver_may_be_touched_and_others_may_come_beside_them) {
  make_known();
  write("last_accessed", "now");
  write("another.so", "of another process");
  EXPECT_TRUE(known());
}

TEST_F(CompiledFilesOf, a_driver_get_another_name_when_they_are_set_aside_and_nothing_is_known_then) {
  make_known();
  CompiledFiles files(record_, folder_);
  const std::string name = files.set_aside();
  EXPECT_THAT(name, HasSubstr("kcache.damaged-"));
  EXPECT_TRUE(fs::exists(name + "/program/kernel.so"));
  EXPECT_FALSE(fs::exists(folder_));
  EXPECT_FALSE(files.knows(kKey));
  EXPECT_FALSE(known());
  EXPECT_EQ(files.set_aside(), "") << "there is nothing any more";
  SetUp();
  EXPECT_NE(files.set_aside(), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch_.path()), fs::directory_iterator()), 3)
      << "the record, its lock, and the files that were set aside last";
}

TEST_F(CompiledFilesOf, a_driver_are_unchanged_where_there_are_none_and_no_record) {
  EXPECT_TRUE(CompiledFiles(scratch_.file("none"), scratch_.file("no/folder")).unchanged());
  EXPECT_FALSE(CompiledFiles(scratch_.file("none"), folder_).unchanged()) << "nobody has tried these";
}

TEST_F(CompiledFilesOf, two_processes_are_known_with_what_both_have_added) {
  CompiledFiles first(record_, folder_), second(record_, folder_);
  first.add(std::array<uint64_t, 1>{1});
  write("second.so", "code");
  second.add(std::array<uint64_t, 1>{2});
  CompiledFiles third(record_, folder_);
  EXPECT_TRUE(third.knows(1));
  EXPECT_TRUE(third.knows(2));
}

TEST_F(CompiledFilesOf, another_process_are_known_to_one_that_has_read_the_record_before) {
  CompiledFiles first(record_, folder_);
  EXPECT_FALSE(first.knows(kKey));
  make_known();
  EXPECT_TRUE(first.knows(kKey));
  CompiledFiles(record_, folder_).add_fatal(3, "was ended");
  EXPECT_TRUE(first.fatal(3));
}

TEST_F(CompiledFilesOf, what_was_fatal_is_kept_with_how_a_process_died) {
  CompiledFiles(record_, folder_).add_fatal(kKey, "was ended by SIGABRT:\nCannot select");
  CompiledFiles other(record_, folder_);
  ASSERT_TRUE(other.fatal(kKey));
  EXPECT_EQ(*other.fatal(kKey), "was ended by SIGABRT: Cannot select");
  EXPECT_FALSE(other.fatal(kKey + 1));
}

TEST_F(CompiledFilesOf, a_damaged_record_knows_nothing) {
  make_known();
  std::string text;
  {
    std::ifstream in(record_);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (size_t at = 0; at < text.size(); at += 3) {
    std::string other = text;
    other[at] = static_cast<char>(other[at] ^ 1);
    std::ofstream(record_, std::ios::trunc) << other;
    EXPECT_FALSE(known()) << at;
    std::ofstream(record_, std::ios::trunc) << text.substr(0, at);
    EXPECT_FALSE(known()) << at << " bytes";
  }
  fs::remove(record_);
  fs::create_directory(record_);
  EXPECT_FALSE(known());
  make_known();
  EXPECT_TRUE(known()) << "the folder gave way";
}

TEST(Mixed, texts_have_other_hashes_than_texts_that_are_nearly_the_same) {
  const std::string text = "__kernel void k(__global int* p) { *p = 1; }";
  for (size_t at = 0; at < text.size(); ++at) {
    std::string other = text;
    other[at] = static_cast<char>(other[at] + 1);
    EXPECT_NE(mixed(other), mixed(text)) << at;
  }
  EXPECT_NE(mixed(text + '\0'), mixed(text));
  EXPECT_NE(mixed(text, 1), mixed(text, 2));
}

}  // namespace
}  // namespace tandem::proof
