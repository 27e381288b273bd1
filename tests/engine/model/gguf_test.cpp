#include "engine/model/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sync/error.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace tandem::testing;

GgufWriter every_type() {
  GgufWriter writer;
  writer.raw("u8", 0, ByteSink().put(uint8_t{200}).bytes()).raw("i8", 1, ByteSink().put(int8_t{-5}).bytes());
  writer.set("u16", uint16_t{60000}).raw("i16", 3, ByteSink().put(int16_t{-300}).bytes());
  writer.set("u32", uint32_t{4000000000}).set("i32", int32_t{-7}).set("u64", uint64_t{1} << 63);
  writer.raw("i64", 11, ByteSink().put(int64_t{-8}).bytes())
      .set("f32", 1.5f)
      .raw("f64", 12, ByteSink().put(0.1).bytes());
  writer.set("yes", true).set("text", "words").set("strings", std::vector<std::string>{"", "b\xff", "long one"});
  writer.set("floats", std::vector<float>{1.0f, -2.5f}).set("ints", std::vector<int32_t>{3, -4});
  writer.raw("none", 9, ByteSink().put<uint32_t>(8).put<uint64_t>(0).bytes());
  writer.raw("nested", 9,
             ByteSink().put<uint32_t>(9).put<uint64_t>(1).put<uint32_t>(0).put<uint64_t>(2).put<uint16_t>(1).bytes());
  return writer;
}

TEST(Gguf, reads_every_kind_of_value_as_it_was_written) {
  const auto bytes = every_type().bytes();
  const GgufFile file = GgufFile::parse(bytes, "memory");
  EXPECT_EQ(file.get_uint("u8"), 200u);
  EXPECT_EQ(file.get_float("i8"), -5.0);
  EXPECT_EQ(file.get_uint("u16"), 60000u);
  EXPECT_EQ(file.get_float("i16"), -300.0);
  EXPECT_EQ(file.get_uint("u32"), 4000000000u);
  EXPECT_EQ(file.get_float("i32"), -7.0);
  EXPECT_EQ(file.get_uint("u64"), uint64_t{1} << 63);
  EXPECT_EQ(file.get_float("i64"), -8.0);
  EXPECT_EQ(file.get_float("f32"), 1.5);
  EXPECT_EQ(file.get_float("f64"), 0.1);
  EXPECT_EQ(file.get_bool("yes"), true);
  EXPECT_EQ(file.get_string("text"), "words");
  EXPECT_THAT(file.get_strings("strings").value(), ElementsAre("", "b\xff", "long one"));
  EXPECT_THAT(file.get_floats("floats").value(), ElementsAre(1.0f, -2.5f));
  EXPECT_THAT(file.get_ints("ints").value(), ElementsAre(3, -4));
  EXPECT_TRUE(file.get_strings("none").value().empty());
  EXPECT_EQ(file.array_length("strings"), 3u);
  EXPECT_EQ(file.type_of("nested"), "array of array");
  EXPECT_EQ(file.keys().size(), 17u);
}

TEST(Gguf, hands_values_over_as_they_are_stored) {
  const auto bytes = every_type().bytes();
  const GgufFile file = GgufFile::parse(bytes, "memory");
  const GgufStored text = file.require_stored("text");
  EXPECT_EQ(text.type, 8u);
  EXPECT_EQ(std::vector(text.bytes.begin(), text.bytes.end()), ByteSink().put_string("words").bytes());
  const GgufStored ints = file.require_stored("ints");
  EXPECT_EQ(ints.bytes.size(), 4u + 8u + 2 * 4u) << "the elements' type, their number, and they";
  GgufWriter again;
  for (const std::string& key : file.keys()) {
    const GgufStored value = file.require_stored(key);
    again.raw(key, value.type, {value.bytes.begin(), value.bytes.end()});
  }
  const auto copied_bytes = again.bytes();
  EXPECT_EQ(copied_bytes.size(), bytes.size());
  const GgufFile copied = GgufFile::parse(copied_bytes, "copied");
  EXPECT_EQ(copied.keys(), file.keys());
  EXPECT_EQ(copied.get_strings("strings"), file.get_strings("strings"));
  EXPECT_EQ(copied.get_float("i8"), -5.0);
  EXPECT_THROW(file.require_stored("absent"), Error);
}

TEST(Gguf, gives_nothing_for_an_absent_key_and_an_error_for_another_type) {
  const auto bytes = every_type().bytes();
  const GgufFile file = GgufFile::parse(bytes, "memory");
  EXPECT_EQ(file.get_uint("absent"), std::nullopt);
  EXPECT_EQ(file.get_strings("absent"), std::nullopt);
  EXPECT_EQ(file.type_of("absent"), "");
  EXPECT_THROW(file.require_uint("absent"), Error);
  EXPECT_THROW(file.require("absent"), Error);
  EXPECT_EQ(file.find("absent"), nullptr);
  EXPECT_THROW(file.get_uint("i32"), Error);
  EXPECT_THROW(file.get_string("u8"), Error);
  EXPECT_THROW(file.get_floats("ints"), Error);
  EXPECT_THROW(file.get_ints("strings"), Error);
  EXPECT_THROW(file.get_strings("text"), Error);
  try {
    file.get_bool("u8");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("found u8, expected bool: memory: metadata key 'u8'"));
  }
}

TEST(Gguf, refuses_an_array_whose_numbers_do_not_fit) {
  const auto bytes = GgufWriter().set("large", std::vector<uint32_t>{1, 3000000000}).bytes();
  EXPECT_THROW(GgufFile::parse(bytes, "memory").get_ints("large"), Error);
}

TEST(Gguf, finds_every_tensor_with_its_bytes) {
  GgufWriter writer;
  writer.alignment = 64;
  writer.set("general.alignment", uint32_t{64});
  writer.tensor("a", {3, 2}, StorageType::f16, std::vector<std::byte>(12, std::byte{1}));
  writer.tensor("b", {32, 1, 2}, StorageType::q4_0, std::vector<std::byte>(36, std::byte{2}));
  const auto bytes = writer.bytes();
  const GgufFile file = GgufFile::parse(bytes, "memory");
  ASSERT_EQ(file.tensors().size(), 2u);
  const GgufTensor& b = file.require("b");
  EXPECT_THAT(b.shape, ElementsAre(32, 1, 2));
  EXPECT_EQ(b.bytes, 36u);
  EXPECT_EQ(b.data[0], std::byte{2});
  EXPECT_EQ(b.data - file.require("a").data, 64);
}

TEST(Gguf, maps_a_file_and_lets_its_pages_go_and_come_back) {
  const ScratchFolder folder;
  const std::string path = folder.file("map.gguf");
  write_file(path,
             GgufWriter().tensor("a", {4096}, StorageType::f32, std::vector<std::byte>(16384, std::byte{7})).bytes());
  {
    const GgufFile file = GgufFile::open(path);
    file.expect_sequential_reads();
    const GgufTensor& a = file.require("a");
    file.drop_pages({a.data, a.bytes});
    EXPECT_EQ(a.data[16383], std::byte{7});
    EXPECT_EQ(file.file_bytes(), std::filesystem::file_size(path));
  }
}

TEST(Gguf, leaves_borrowed_bytes_alone_when_their_pages_are_dropped) {
  const auto bytes =
      GgufWriter().tensor("a", {8192}, StorageType::f32, std::vector<std::byte>(32768, std::byte{9})).bytes();
  const GgufFile file = GgufFile::parse(bytes, "memory");
  const GgufTensor& a = file.require("a");
  file.drop_pages({a.data, a.bytes});
  EXPECT_EQ(a.data[20000], std::byte{9});
}

}  // namespace
}  // namespace tandem
