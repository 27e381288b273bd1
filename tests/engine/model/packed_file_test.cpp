#include "engine/model/packed_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/model/loading.h"
#include "sync/error.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/message_of.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using namespace tandem::testing;

void write(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A tiny model in a file, loaded by packing, and its packed weights in another file.
class PackedFileTest : public ::testing::Test {
 protected:
  PackedFileTest() {
    model_ = load_model(file_, pool_, 2);
    PackedFileWriter out(path_, identity(), slot_bytes());
    for (const sync::Slot* slot : model_.weights.slots) out.write({slot->data(), slot->size_bytes()});
    out.commit();
    const std::string whole = read(path_);
    const auto bytes = std::as_bytes(std::span(whole));
    header_.assign(bytes.begin(), bytes.end() - static_cast<std::ptrdiff_t>(bytes_of_all_slots()));
  }
  size_t bytes_of_all_slots() const {
    size_t bytes = 0;
    for (const sync::Slot* slot : model_.weights.slots) bytes += slot->size_bytes();
    return bytes;
  }

  GgufFile open_model() const {
    write(model_path_, write_gguf({.layers = 3, .tied_output = true, .qkv_bias = true}));
    return GgufFile::open(model_path_);
  }
  GgufIdentity identity() const { return file_.identity().value(); }
  std::vector<size_t> slot_bytes() {
    sync::Pool unused;
    return ModelLoading(file_, unused).slot_bytes();
  }
  const std::vector<std::byte>& header() const { return header_; }
  // The reason why the file cannot be used, or "".
  std::string refusal() {
    std::string why;
    const bool opened = PackedFile::open(path_, identity(), slot_bytes(), why).has_value();
    EXPECT_EQ(opened, why.empty());
    return why;
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_.file("weights.packed"), model_path_ = folder_.file("tiny.gguf");
  GgufFile file_ = open_model();
  sync::Pool pool_;
  Model model_;
  std::vector<std::byte> header_;
};

TEST_F(PackedFileTest, gives_every_weight_the_bytes_and_the_place_that_packing_gives_it) {
  for (const PackedUse use : {PackedUse::mapped, PackedUse::read}) {
    std::string why;
    auto packed = PackedFile::open(path_, identity(), slot_bytes(), why);
    ASSERT_TRUE(packed) << why;
    sync::Pool pool;
    ModelLoading loading(file_, pool);
    loading.take(*packed, use);
    const Model taken = loading.finish(1);
    EXPECT_EQ(taken.weights.bytes, model_.weights.bytes);
    ASSERT_EQ(taken.weights.slots.size(), 5u) << "embedding, three layers, output";
    for (size_t i = 0; i < taken.weights.slots.size(); ++i) {
      const sync::Slot &is = *taken.weights.slots[i], &was = *model_.weights.slots[i];
      EXPECT_EQ(is.label(), was.label());
      ASSERT_EQ(is.size_bytes(), was.size_bytes());
      EXPECT_EQ(std::memcmp(is.data(), was.data(), is.size_bytes()), 0) << is.label();
    }
    for (size_t i = 0; i < 3; ++i) {
      const LayerWeights &is = taken.weights.layers[i], &was = model_.weights.layers[i];
      EXPECT_EQ(is.down.parts.at(0).matrix.data.slot, taken.weights.slots[i + 1]);
      EXPECT_EQ(is.down.parts.at(0).matrix.data.offset_bytes, was.down.parts.at(0).matrix.data.offset_bytes);
      EXPECT_EQ(is.qkv.bias.offset_bytes, was.qkv.bias.offset_bytes);
      EXPECT_GT(is.qkv.bias.offset_bytes, 0u);
    }
    EXPECT_EQ(taken.weights.output.parts.at(0).matrix.data, taken.weights.embedding.data) << "tied";
  }
}

TEST_F(PackedFileTest, is_written_piece_by_piece_as_it_is_written_from_memory) {
  const std::string whole = read(path_);
  for (const size_t most_bytes : {size_t{1}, size_t{1} << 20}) {
    sync::Pool pool;
    ModelLoading loading(file_, pool);
    const std::string pieces = folder_.file("pieces" + std::to_string(most_bytes));
    PackedFileWriter out(pieces, identity(), slot_bytes());
    uint64_t done = 0, total = 0;
    loading.pack_pieces(
        2, most_bytes,
        [&](uint64_t now, uint64_t all) {
          EXPECT_GE(now, done);
          done = now;
          total = all;
        },
        [&](std::span<const std::byte> piece) { out.write(piece); });
    EXPECT_FALSE(std::filesystem::exists(pieces)) << "nothing remains before commit()";
    out.commit();
    EXPECT_EQ(read(pieces), whole);
    EXPECT_GT(done, total / 2);
  }
}

TEST_F(PackedFileTest, is_refused_where_it_is_cut_off_or_has_more_than_it_says) {
  const uint64_t whole = std::filesystem::file_size(path_);
  ASSERT_THAT(refusal(), IsEmpty());
  for (const uint64_t bytes : {whole - 1, whole - 4096, uint64_t{4096}, uint64_t{4095}, uint64_t{8}, uint64_t{0}}) {
    std::filesystem::resize_file(path_, bytes);
    EXPECT_THAT(refusal(), Not(IsEmpty())) << bytes;
  }
  std::filesystem::resize_file(path_, whole);
  write(path_, header());
  std::filesystem::resize_file(path_, whole + 4096);
  EXPECT_THAT(refusal(), HasSubstr("another length"));
}

TEST_F(PackedFileTest, is_named_where_it_is_emptied_before_it_is_taken) {
  for (const PackedUse use : {PackedUse::mapped, PackedUse::read}) {
    const std::string whole = read(path_);
    std::string why;
    auto packed = PackedFile::open(path_, identity(), slot_bytes(), why);
    ASSERT_TRUE(packed) << why;
    std::filesystem::resize_file(path_, 0);
    sync::Pool pool;
    ModelLoading loading(file_, pool);
    EXPECT_THAT(test::message_of([&] {
                  loading.take(*packed, use);
                  packed->require_unchanged();
                }),
                HasSubstr(path_));
    write(path_, std::as_bytes(std::span(whole)));
  }
}

TEST_F(PackedFileTest, is_refused_where_any_word_of_its_header_is_another) {
  const std::string whole = read(path_);
  const size_t words = 11 + slot_bytes().size();  // magic, version, identity, lengths, hashes
  for (size_t word = 0; word < words; ++word) {
    std::string damaged = whole;
    damaged[word * 8 + word % 8] = static_cast<char>(damaged[word * 8 + word % 8] ^ 1 << word % 8);
    write(path_, std::as_bytes(std::span(damaged)));
    EXPECT_THAT(refusal(), HasSubstr("damaged")) << word;
  }
  write(path_, std::as_bytes(std::span(whole)));
  EXPECT_THAT(refusal(), IsEmpty());
}

TEST_F(PackedFileTest, is_refused_for_another_model_or_other_slots) {
  std::string why;
  for (int field = 0; field < 5; ++field) {
    GgufIdentity other = identity();
    (field == 0   ? other.file_bytes
     : field == 1 ? other.header_hash
     : field == 2 ? other.sampled_hash
     : field == 3 ? other.place_hash
                  : reinterpret_cast<uint64_t&>(other.modified_ns)) += 1;
    EXPECT_FALSE(PackedFile::open(path_, other, slot_bytes(), why));
    EXPECT_THAT(why, HasSubstr("another version or model"));
    const bool is_another_file = field != 2 && field != 3;  // fields 2 and 3 mean that the file was overwritten
    EXPECT_EQ(PackedFile::name(other) != PackedFile::name(identity()), is_another_file);
  }
  std::vector<size_t> slots = slot_bytes();
  std::swap(slots.front(), slots.back());
  EXPECT_FALSE(PackedFile::open(path_, identity(), slots, why));
  slots.push_back(64);
  EXPECT_FALSE(PackedFile::open(path_, identity(), slots, why));
}

// Opening checks 64 pages, from the first to the last.
TEST_F(PackedFileTest, is_refused_where_its_weights_are_damaged) {
  const std::string whole = read(path_);
  const size_t begin = header().size(), pages = (whole.size() - begin) / 4096;
  for (const size_t i : {0, 1, 31, 63}) {
    const size_t place = begin + (pages < 64 ? i * pages / 64 : (pages - 1) * i / 63) * 4096 + 77 * i % 4096;
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 4);
    write(path_, std::as_bytes(std::span(damaged)));
    EXPECT_THAT(refusal(), HasSubstr("its weights are damaged")) << place;
  }
}

TEST_F(PackedFileTest, that_is_cut_while_it_is_mapped_gives_zeros_and_an_error) {
  std::string why;
  auto packed = PackedFile::open(path_, identity(), slot_bytes(), why);
  ASSERT_TRUE(packed) << why;
  sync::Pool pool;
  std::vector<sync::FilePart> parts;
  for (const size_t bytes : slot_bytes()) parts.push_back({0, bytes, "a"});
  const auto slots = packed->map(pool, parts);
  packed->require_unchanged();
  std::filesystem::resize_file(path_, 4096);
  const std::byte* last = slots.back()->data() + slots.back()->size_bytes() - 4096;
  const std::byte found = *static_cast<const volatile std::byte*>(last);
  EXPECT_EQ(found, std::byte{0});
  EXPECT_THROW(packed->require_unchanged(), Error);
}

TEST_F(PackedFileTest, that_is_written_to_while_it_is_mapped_is_an_error_and_one_that_is_replaced_is_none) {
  std::string why;
  auto packed = PackedFile::open(path_, identity(), slot_bytes(), why);
  ASSERT_TRUE(packed) << why;
  const std::string beside = folder_.file("beside"), first = folder_.file("first");
  write(beside, header());
  std::filesystem::rename(path_, first);
  std::filesystem::rename(beside, path_);
  packed->require_unchanged();
  std::filesystem::last_write_time(first, std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_THROW(packed->require_unchanged(), Error);
}

// An overwritten model can have the old date and the old length.
TEST_F(PackedFileTest, tells_a_model_that_was_written_over_from_what_it_was) {
  const GgufIdentity before = identity();
  const auto date = std::filesystem::last_write_time(model_path_);
  std::string bytes = read(model_path_);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write(model_path_, std::as_bytes(std::span(bytes)));
  std::filesystem::last_write_time(model_path_, date);
  const GgufIdentity after = GgufFile::open(model_path_).identity().value();
  EXPECT_EQ(after.modified_ns, before.modified_ns);
  EXPECT_EQ(after.file_bytes, before.file_bytes);
  EXPECT_NE(after.sampled_hash, before.sampled_hash);
  EXPECT_NE(after.place_hash, before.place_hash);
}

TEST_F(PackedFileTest, that_is_not_there_is_no_reason_to_say_anything_and_one_that_is_no_file_is) {
  std::string why = "old";
  EXPECT_FALSE(PackedFile::open(folder_.file("absent"), identity(), slot_bytes(), why));
  EXPECT_THAT(why, IsEmpty());
  EXPECT_FALSE(PackedFile::open(folder_.path().string(), identity(), slot_bytes(), why));
  EXPECT_THAT(why, HasSubstr("no regular file"));
}

TEST_F(PackedFileTest, belongs_to_the_model_until_that_is_moved_or_written_again) {
  const GgufIdentity before = identity();
  EXPECT_EQ(GgufFile::open(model_path_).identity(), before);
  std::filesystem::rename(model_path_, folder_.file("moved.gguf"));
  const GgufIdentity moved = GgufFile::open(folder_.file("moved.gguf")).identity().value();
  EXPECT_NE(moved, before) << "its names changed";
  EXPECT_EQ(PackedFile::name(moved), PackedFile::name(before)) << "the old file is replaced";
  std::filesystem::last_write_time(
      folder_.file("moved.gguf"),
      std::filesystem::last_write_time(folder_.file("moved.gguf")) + std::chrono::seconds(1));
  EXPECT_NE(GgufFile::open(folder_.file("moved.gguf")).identity(), before);
  const auto bytes = write_gguf({});
  EXPECT_EQ(GgufFile::parse(bytes, "tiny.gguf").identity(), std::nullopt);
}

TEST_F(PackedFileTest, identity_sees_every_byte_before_the_tensors_and_no_value_of_them) {
  const auto header_hash = [&](size_t at) {
    std::string bytes = read(model_path_);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    const std::string path = folder_.file("changed.gguf");
    write(path, std::as_bytes(std::span(bytes)));
    return GgufFile::open(path).identity()->header_hash;
  };
  const std::string bytes = read(model_path_);
  const size_t name = bytes.find("tiny"), end = bytes.size() - 1;
  ASSERT_NE(name, std::string::npos);
  EXPECT_NE(header_hash(name), identity().header_hash);
  EXPECT_EQ(header_hash(end), identity().header_hash);
}

}  // namespace
}  // namespace tandem
