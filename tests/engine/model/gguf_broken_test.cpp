// A corpus of broken files. Each is a valid file with one deliberate fault, and lists words that the error
// must contain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <limits>

#include "engine/model/gguf.h"
#include "sync/error.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;
using namespace tandem::testing;
using Bytes = std::vector<std::byte>;

ByteSink header(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
  return ByteSink().put<uint32_t>(0x46554747).put(version).put(tensors).put(keys);
}

// A file with one key. The caller writes its value.
Bytes with_value(uint32_t type, const ByteSink& value, const std::string& key = "key") {
  return header(0, 1).put_string(key).put(type).put_bytes(value.bytes()).bytes();
}

struct TensorRow {
  std::string name = "weight";
  std::vector<uint64_t> shape = {32, 2};
  uint32_t type = 0;
  uint64_t offset = 0;
};

// A file with these tensors and 256 bytes of data.
Bytes with_tensors(const std::vector<TensorRow>& rows) {
  ByteSink sink = header(rows.size(), 0);
  for (const TensorRow& row : rows) {
    sink.put_string(row.name).put(static_cast<uint32_t>(row.shape.size()));
    for (uint64_t dimension : row.shape) sink.put(dimension);
    sink.put(row.type).put(row.offset);
  }
  return sink.pad_to(32).put_bytes(Bytes(256)).bytes();
}

Bytes cut(Bytes bytes, size_t size) {
  bytes.resize(size);
  return bytes;
}

ByteSink nested_arrays(int levels) {
  ByteSink sink;
  for (int i = 1; i < levels; ++i) sink.put<uint32_t>(9).put<uint64_t>(1);
  return sink.put<uint32_t>(4).put<uint64_t>(0);
}

struct Broken {
  const char* fault;
  Bytes bytes;
  const char* field;     // the place that the error names
  const char* expected;  // the found or expected value
};

// Each row has the fault's name and the broken bytes. The error must contain the row's field and its expected text.
std::vector<Broken> corpus() {
  constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();
  const Bytes valid = with_tensors({{}});
  Bytes swapped = valid;
  std::swap(swapped[4], swapped[7]);
  Bytes other_magic = valid;
  other_magic[0] = std::byte{'X'};
  return {
      {"empty", {}, "header", "the file is empty"},
      {"half a magic", cut(valid, 3), "'magic'", "truncated"},
      {"other magic", other_magic, "'magic'", "not 'GGUF'"},
      {"only the magic", cut(valid, 4), "'version'", "truncated"},
      {"version 0", header(0, 0, 0).bytes(), "'version'", "GGUF version 0, expected 2 or 3"},
      {"version 1", header(0, 0, 1).bytes(), "'version'", "GGUF version 1, expected 2 or 3"},
      {"version 4", header(0, 0, 4).bytes(), "'version'", "GGUF version 4, expected 2 or 3"},
      {"big-endian", swapped, "'version'", "big-endian"},
      {"no tensor count", cut(valid, 12), "'tensor_count'", "truncated"},
      {"half a key count", cut(valid, 20), "'metadata_kv_count'", "truncated"},
      {"huge key count", header(0, kHuge).put_bytes(Bytes(64)).bytes(), "'metadata_kv_count'",
       "expected at most the 4"},
      {"huge tensor count", header(kHuge, 0).put_bytes(Bytes(64)).bytes(), "'tensor_count'", "expected at most the 1"},
      {"huge key length", header(0, 1).put(kHuge).put_bytes(Bytes(64)).bytes(), "entry 0: key",
       "a string of 18446744073709551615 bytes"},
      {"empty key", with_value(4, ByteSink().put<uint32_t>(1), ""), "entry 0: key", "expected 1 to 65535 printable"},
      {"too long a key", with_value(4, ByteSink().put<uint32_t>(1), std::string(65536, 'k')), "entry 0: key",
       "of 65536 bytes"},
      {"control byte in a key", with_value(4, ByteSink().put<uint32_t>(1), "a\nb"), "entry 0: key", "'a?b'"},
      {"unknown value type", with_value(13, ByteSink().put<uint64_t>(0)), "'key': type",
       "value type 13, expected 0 to 12"},
      {"value cut off", with_value(10, ByteSink().put<uint32_t>(0)), "'key'", "fit into the rest of the file"},
      {"bool of 2", with_value(7, ByteSink().put<uint8_t>(2)), "'key'", "neither 0 nor 1"},
      {"huge string", with_value(8, ByteSink().put(kHuge)), "'key'", "a string of 18446744073709551615 bytes"},
      {"string past the end", with_value(8, ByteSink().put<uint64_t>(9).put<uint64_t>(0)), "'key'",
       "expected at most the 8"},
      {"unknown element type", with_value(9, ByteSink().put<uint32_t>(99).put<uint64_t>(0)), "'key': element type",
       "value type 99"},
      {"huge array", with_value(9, ByteSink().put<uint32_t>(4).put(kHuge)), "'key'", "entries, expected at most the 0"},
      {"array whose bytes wrap around",
       with_value(9, ByteSink().put<uint32_t>(4).put((uint64_t{1} << 62) + 1).put<uint32_t>(0)), "'key'",
       "expected at most the 1"},
      {"huge string array", with_value(9, ByteSink().put<uint32_t>(8).put(kHuge)), "'key'",
       "entries, expected at most the 0"},
      {"bad string in an array", with_value(9, ByteSink().put<uint32_t>(8).put<uint64_t>(1).put(kHuge)), "'key'",
       "a string of"},
      {"bad bool in an array", with_value(9, ByteSink().put<uint32_t>(7).put<uint64_t>(2).put<uint16_t>(0x0300)),
       "'key'", "neither 0 nor 1"},
      {"deep arrays", with_value(9, nested_arrays(5)), "'key'", "nested deeper"},
      {"huge nested array", with_value(9, ByteSink().put<uint32_t>(9).put(kHuge)), "'key'",
       "entries, expected at most the 0"},
      {"duplicate key",
       header(0, 2)
           .put_string("k")
           .put<uint32_t>(0)
           .put<uint8_t>(1)
           .put_string("k")
           .put<uint32_t>(0)
           .put<uint8_t>(1)
           .bytes(),
       "'k'", "duplicate key"},
      {"alignment 0", GgufWriter().set("general.alignment", uint32_t{0}).bytes(), "'general.alignment'",
       "alignment 0, expected a power of two"},
      {"alignment 48", GgufWriter().set("general.alignment", uint32_t{48}).bytes(), "'general.alignment'",
       "alignment 48"},
      {"alignment 2^31", GgufWriter().set("general.alignment", uint32_t{1} << 31).bytes(), "'general.alignment'",
       "alignment 2147483648"},
      {"alignment of text", GgufWriter().set("general.alignment", "32").bytes(), "'general.alignment'",
       "type string, expected u32"},
      {"empty tensor name", with_tensors({{.name = ""}}), "tensor 0: name", "expected 1 to 64"},
      {"long tensor name", with_tensors({{.name = std::string(65, 't')}}), "tensor 0: name", "of 65 bytes"},
      {"zero byte in a tensor name", with_tensors({{.name = std::string("a\0b", 3)}}), "tensor 0: name", "'a?b'"},
      {"no dimension", with_tensors({{.shape = {}}}), "'weight': shape", "0 dimensions, expected 1 to 4"},
      {"five dimensions", with_tensors({{.shape = {1, 1, 1, 1, 1}}}), "'weight': shape",
       "5 dimensions, expected 1 to 4"},
      {"dimension 0", with_tensors({{.shape = {32, 0}}}), "'weight': shape", "a dimension of 0"},
      {"negative dimension", with_tensors({{.shape = {kHuge, 1}}}), "'weight': shape",
       "a dimension of 18446744073709551615"},
      {"product overflows", with_tensors({{.shape = {uint64_t{1} << 32, uint64_t{1} << 32}}}), "'weight': shape",
       "at most 2^59 values"},
      {"unknown storage type", with_tensors({{.type = 15}}), "'weight': type",
       "the storage type Q8_K (type 15) is not supported, expected one of F32 F16"},
      {"storage type that came later", with_tensors({{.type = 43}}), "'weight': type",
       "storage type number 43 is not supported"},
      {"withdrawn storage type", with_tensors({{.type = 31}}), "'weight': type",
       "Q4_0_4_4 (type 31) was withdrawn from the format: use Q4_0"},
      {"storage type from nowhere", with_tensors({{.type = 4000000000}}), "'weight': type",
       "storage type number 4000000000 is not supported"},
      {"rows that are no whole blocks", with_tensors({{.shape = {33, 1}, .type = 2}}), "'weight': shape",
       "rows of 33 values, expected a multiple of 32 for type Q4_0"},
      {"offset off the alignment", with_tensors({{.offset = 4}}), "'weight': offset",
       "offset 4, expected a multiple of the alignment 32"},
      {"offset past the end", with_tensors({{.offset = 1 << 20}}), "'weight': data",
       "expected them to end inside its 256 bytes"},
      {"offset that wraps around", with_tensors({{.offset = kHuge - 31}}), "'weight': data",
       "expected them to end inside"},
      {"data past the end", with_tensors({{.shape = {64, 2}}}), "'weight': data", "bytes 0 + 512"},
      {"data cut off", cut(valid, valid.size() - 1), "'weight': data", "truncated"},
      {"padding cut off", cut(valid, valid.size() - 256 - 1), "padding", "truncated"},
      {"duplicate tensor", with_tensors({{.shape = {8}}, {.shape = {8}, .offset = 32}}), "'weight'",
       "duplicate tensor name"},
      {"overlapping tensors", with_tensors({{.name = "a", .shape = {16}}, {.name = "b", .shape = {8}, .offset = 32}}),
       "tensor 'b': offset", "overlaps that of 'a'"},
  };
}

TEST(BrokenGguf, the_file_that_the_corpus_breaks_is_valid) {
  EXPECT_EQ(GgufFile::parse(with_tensors({{}}), "valid").tensors().size(), 1u);
  EXPECT_EQ(GgufFile::parse(with_value(9, nested_arrays(4)), "valid").type_of("key"), "array of array");
}

TEST(BrokenGguf, every_fault_is_an_error_that_names_file_field_and_expectation) {
  const std::vector<Broken> faults = corpus();
  ASSERT_GE(faults.size(), 50u);
  for (const Broken& broken : faults) {
    SCOPED_TRACE(broken.fault);
    try {
      GgufFile::parse(broken.bytes, "broken.gguf");
      ADD_FAILURE() << "was read";
    } catch (const Error& error) {
      EXPECT_THAT(error.object(), HasSubstr("broken.gguf"));
      EXPECT_THAT(error.object(), HasSubstr(broken.field));
      EXPECT_THAT(error.failure(), HasSubstr(broken.expected));
    }
  }
}

// Blocks of 128 values, 34 bytes each, have fewer bytes than those of 64 values, 18 bytes each.
TEST(BrokenGguf, of_another_q2_0_says_which_blocks_are_meant) {
  const Bytes too_long = with_tensors({{.shape = {1024}, .type = 42}});
  const Bytes overlapping =
      with_tensors({{.name = "a", .shape = {128 * 6}, .type = 42}, {.name = "b", .shape = {8}, .offset = 192}});
  for (const Bytes& bytes : {too_long, overlapping}) {
    try {
      GgufFile::parse(bytes, "broken.gguf");
      ADD_FAILURE() << "was read";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("blocks of Q2_0 have 64 values"));
    }
  }
}

TEST(BrokenGguf, every_prefix_of_a_valid_file_is_an_error) {
  const Bytes valid = GgufWriter()
                          .set("text", "words")
                          .set("strings", std::vector<std::string>{"a", "bc"})
                          .tensor("a", {8}, StorageType::f32, Bytes(32))
                          .tensor("b", {8}, StorageType::f32, Bytes(32))
                          .bytes();
  GgufFile::parse(valid, "whole");
  for (size_t size = 0; size < valid.size(); ++size) {
    // Each cut is a copy, so that a sanitizer sees a read past its end.
    EXPECT_THROW(GgufFile::parse(Bytes(valid.begin(), valid.begin() + static_cast<ptrdiff_t>(size)), "cut"), Error)
        << size;
  }
}

void expect_open_error(const std::string& path, const char* expected) {
  try {
    GgufFile::open(path);
    ADD_FAILURE() << path << " was opened";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(expected));
    EXPECT_THAT(error.what(), HasSubstr(path));
  }
}

TEST(BrokenGguf, what_is_no_readable_file_is_an_error) {
  const ScratchFolder folder;
  expect_open_error(folder.path(), "found a directory");
  expect_open_error(folder.file("absent.gguf"), "No such file");
  write_file(folder.file("empty.gguf"), {});
  expect_open_error(folder.file("empty.gguf"), "the file is empty");
  ASSERT_EQ(::mkfifo(folder.file("pipe.gguf").c_str(), 0600), 0);
  expect_open_error(folder.file("pipe.gguf"), "expected a regular file");
}

}  // namespace
}  // namespace tandem
