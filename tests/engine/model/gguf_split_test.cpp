#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/model/gguf.h"
#include "sync/error.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;
using namespace tandem::testing;

class SplitGguf : public ::testing::Test {
 protected:
  std::string path(int index, int count = 3) const {
    return folder_.file("m-0000" + std::to_string(index + 1) + "-of-0000" + std::to_string(count) + ".gguf");
  }
  // Part `index` has one tensor filled with its number.
  static GgufWriter part(uint16_t index, int32_t tensors = 3) {
    GgufWriter writer;
    if (index == 0) writer.set("general.name", "whole");
    writer.set("split.no", index).set("split.count", uint16_t{3}).set("split.tensors.count", tensors);
    writer.tensor("t" + std::to_string(index), {8}, StorageType::f32, std::vector<std::byte>(32, std::byte(index)));
    return writer;
  }
  void write(int32_t tensors = 3) const {
    for (uint16_t i = 0; i < 3; ++i) write_file(path(i), part(i, tensors).bytes());
  }
  static void expect_error(const std::string& path, const std::string& expected) {
    try {
      GgufFile::open(path);
      ADD_FAILURE() << "was opened; expected " << expected;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(expected));
    }
  }

  const ScratchFolder folder_;
};

TEST_F(SplitGguf, opens_through_its_first_part_and_looks_like_one_file) {
  write();
  const GgufFile file = GgufFile::open(path(0));
  EXPECT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.get_string("general.name"), "whole");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(file.require("t" + std::to_string(i)).data[31], std::byte(i));
  const GgufTensor& last = file.require("t2");
  file.drop_pages({last.data, last.bytes});
  EXPECT_EQ(last.data[0], std::byte{2});
  uint64_t bytes = 0;
  for (int i = 0; i < 3; ++i) bytes += std::filesystem::file_size(path(i));
  EXPECT_EQ(file.file_bytes(), bytes);
}

TEST_F(SplitGguf, names_the_first_part_when_another_is_opened) {
  write();
  expect_error(path(1), "this is part 2 of a model split into 3 files");
  expect_error(path(1), "open " + path(0));
}

TEST_F(SplitGguf, says_which_part_is_missing) {
  write();
  std::filesystem::remove(path(2));
  expect_error(path(0), path(2));
}

TEST_F(SplitGguf, notices_a_part_under_the_name_of_another) {
  write();
  std::filesystem::copy_file(path(1), path(2), std::filesystem::copy_options::overwrite_existing);
  expect_error(path(0), "found part 2, expected part 3");
}

TEST_F(SplitGguf, notices_a_part_of_another_model) {
  write();
  write_file(path(1), part(1).set("split.count", uint16_t{4}).bytes());
  expect_error(path(0), "found 4 parts, expected 3");
}

TEST_F(SplitGguf, notices_a_tensor_in_two_parts) {
  write();
  write_file(path(1), part(1).tensor("t0", {8}, StorageType::f32, std::vector<std::byte>(32)).bytes());
  expect_error(path(0), "a tensor is in two parts");
}

TEST_F(SplitGguf, notices_missing_tensors) {
  write(4);
  expect_error(path(0), "hold 3 tensors, expected 4");
}

TEST_F(SplitGguf, asks_for_the_published_name) {
  write();
  std::filesystem::rename(path(0), folder_.file("renamed.gguf"));
  expect_error(folder_.file("renamed.gguf"), "expected it to end with -00001-of-00003.gguf");
}

TEST_F(SplitGguf, notices_damaged_keys) {
  write_file(path(0), part(0).set("split.count", "three").bytes());
  expect_error(path(0), "expected a non-negative integer");
  write_file(path(0), part(0).set("split.count", uint32_t{4000000000}).bytes());
  expect_error(path(0), "too many parts");
  write();
  write_file(path(1), part(1).remove("split.no").bytes());
  expect_error(path(0), "found no part number, expected part 2");
}

TEST_F(SplitGguf, names_a_damaged_part) {
  write();
  write_file(path(1), std::vector<std::byte>(16));
  expect_error(path(0), path(1));
}

TEST_F(SplitGguf, is_not_read_from_memory) { EXPECT_THROW(GgufFile::parse(part(0).bytes(), "memory"), Error); }

}  // namespace
}  // namespace tandem
