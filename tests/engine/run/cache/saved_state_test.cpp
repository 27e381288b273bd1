// A text in a file: a loaded text goes on with the same bits, and a file that does not fit is refused.
#include "engine/run/cache/saved_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "sync/error.h"
#include "tests/engine/run/host_engine.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;

class SavedStates : public ::testing::Test {
 protected:
  static TinyModel model() {
    TinyModel model;
    model.context_length = 1024;
    return model;
  }
  std::unique_ptr<Engine> open(int64_t context = 640, KvType type = KvType::f16) const {
    EngineOptions options = engines_.options();
    options.context = context;
    options.kv_type = type;
    options.sequences = 2;
    return Engine::open(options);
  }
  std::string content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string with(const std::string& bytes) const {
    std::ofstream(other_, std::ios::binary) << bytes;
    return other_;
  }

  const HostEngines engines_{"state", model()};
  const ScratchFolder folder_;
  const std::string path_ = folder_.file("text.state"), other_ = folder_.file("other.state");
};

TEST_F(SavedStates, go_on_with_the_bits_of_a_text_that_was_never_saved) {
  const std::vector<int32_t> ids = some_ids(320);
  const std::span<const int32_t> all(ids);
  const auto whole = open();
  Sequence unsaved = whole->cache().new_sequence();
  const Logits expected = extend(*whole, unsaved, all);
  {
    const auto engine = open();
    Sequence text = engine->cache().new_sequence();
    extend(*engine, text, all.first(300));
    engine->cache().save(path_, text);
  }
  const auto engine = open();
  Sequence text = engine->cache().load(path_);
  EXPECT_TRUE(std::ranges::equal(text.ids(), all.first(300)));
  EXPECT_TRUE(std::ranges::equal(extend(*engine, text, all.subspan(300)), expected));
  text.rewind(10);
  EXPECT_TRUE(std::ranges::equal(extend(*engine, text, all.subspan(10)), expected)) << "a part of it serves as well";

  engine->cache().save(other_, text);
  Sequence again = engine->cache().load(other_);
  EXPECT_TRUE(std::ranges::equal(again.ids(), ids)) << "with the 20 tokens behind";
  again.rewind(319);
  EXPECT_TRUE(std::ranges::equal(extend(*engine, again, all.last(1)), expected));
}

TEST_F(SavedStates, of_another_kind_are_refused_by_what_differs) {
  const auto engine = open();
  Sequence text = engine->cache().new_sequence();
  extend(*engine, text, some_ids(300));
  engine->cache().save(path_, text);
  EXPECT_THAT(message_of([&] { open(640, KvType::f32)->cache().load(path_); }),
              HasSubstr("its cache_type is \"f16\", here it is \"f32\""));
  EXPECT_THAT(message_of([&] { open(256)->cache().load(path_); }), HasSubstr("300 tokens of 256"));
  TinyModel wide = model();
  wide.seed = 9;
  const HostEngines others("others", wide);
  EXPECT_THAT(message_of([&] { others.open()->cache().load(path_); }), HasSubstr("its hash is "));
}

TEST_F(SavedStates, that_are_cut_or_none_are_refused_and_change_nothing) {
  const auto engine = open();
  Sequence text = engine->cache().new_sequence();
  extend(*engine, text, some_ids(300));
  engine->cache().save(path_, text);
  const int64_t free = engine->cache().free_pages();
  const std::string bytes = content();
  const Logits expected = [&] {
    const auto other = open();
    Sequence same = other->cache().new_sequence();
    extend(*other, same, some_ids(300));
    return extend(*other, same, some_ids(2));
  }();
  const auto refused = [&](const std::string& path) { return message_of([&] { engine->cache().load(path); }); };
  EXPECT_THAT(refused(folder_.file("missing")), HasSubstr("missing"));
  EXPECT_THAT(refused(with("GGUF, or whatever this is, but long enough")), HasSubstr("no saved state"));
  EXPECT_THAT(refused(with(bytes.substr(0, 20))), HasSubstr("no saved state"));
  for (const size_t length : {size_t{40}, size_t{500}, bytes.size() / 2, bytes.size() - 1})
    EXPECT_THAT(refused(with(bytes.substr(0, length))), HasSubstr("the saved state is cut")) << length;
  EXPECT_THAT(refused(with(bytes + "x")), HasSubstr("the saved state has grown"));
  // The version before had sums in another order. The other one is a later version.
  for (const int step : {-1, 1}) {
    std::string other = bytes;
    other[8] = static_cast<char>(other[8] + step);
    EXPECT_THAT(refused(with(other)), HasSubstr("another version"));
  }
  std::string endless = bytes;
  endless.replace(24, 8, "\xff\xff\xff\xff\xff\xff\xff\x7f");
  EXPECT_THAT(refused(with(endless)), HasSubstr("the saved state is cut"));
  EXPECT_EQ(engine->cache().free_pages(), free) << "a refused file takes no pages";
  EXPECT_EQ(text.position(), 300);
  EXPECT_TRUE(std::ranges::equal(extend(*engine, text, some_ids(2)), expected));
}

// The test damages bytes in steps that meet all parts of the file: header, description, ids, pages, checksum.
TEST_F(SavedStates, with_a_damaged_byte_anywhere_are_refused_and_change_nothing) {
  const auto engine = open();
  Sequence text = engine->cache().new_sequence();
  extend(*engine, text, some_ids(300));
  engine->cache().save(path_, text);
  const int64_t free = engine->cache().free_pages();
  const std::string bytes = content();
  const Logits expected = [&] {
    const auto other = open();
    Sequence same = other->cache().new_sequence();
    extend(*other, same, some_ids(300));
    return extend(*other, same, some_ids(2));
  }();
  std::vector<size_t> places;
  for (size_t place = 0; place < 2000; place += 13) places.push_back(place);
  for (size_t place = 2000; place < bytes.size(); place += 9973) places.push_back(place);
  places.push_back(bytes.size() - 1);
  for (const size_t place : places) {
    std::string damaged = bytes;
    damaged[place] = static_cast<char>(damaged[place] ^ 1 << place % 8);
    const std::string message = message_of([&] { engine->cache().load(with(damaged)); });
    EXPECT_THAT(message, HasSubstr("state")) << place;
    if (place >= 2000) {
      EXPECT_THAT(message, HasSubstr("the saved state is damaged")) << place;
    }
  }
  EXPECT_EQ(engine->cache().free_pages(), free) << "a refused file takes no pages";
  EXPECT_EQ(text.position(), 300);
  EXPECT_TRUE(std::ranges::equal(extend(*engine, text, some_ids(2)), expected));
}

TEST_F(SavedStates, whose_number_of_tokens_is_damaged_to_zero_are_refused) {
  const auto engine = open();
  Sequence text = engine->cache().new_sequence();
  extend(*engine, text, some_ids(300));
  engine->cache().save(path_, text);
  std::string damaged = content();
  damaged.replace(24, 8, std::string(8, '\0'));
  EXPECT_THAT(message_of([&] { engine->cache().load(with(damaged)); }), HasSubstr("the saved state has grown"));
  Sequence empty = engine->cache().new_sequence();
  engine->cache().save(path_, empty);
  EXPECT_EQ(engine->cache().load(path_).position(), 0) << "a text without tokens can be kept";
  damaged = content();
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  EXPECT_THAT(message_of([&] { engine->cache().load(with(damaged)); }), HasSubstr("the saved state is damaged"));
}

// A value that nests deep overran the stack when it was printed.
TEST_F(SavedStates, whose_description_nests_deep_or_is_long_are_refused_in_a_short_message) {
  const auto engine = open();
  Sequence text = engine->cache().new_sequence();
  extend(*engine, text, some_ids(3));
  engine->cache().save(path_, text);
  const std::string bytes = content();
  const auto refused = [&](const std::string& description) {
    std::string other = bytes.substr(0, 32) + description + bytes;
    const uint64_t length = description.size();
    std::memcpy(other.data() + 16, &length, sizeof length);
    return message_of([&] { engine->cache().load(with(other)); });
  };
  const std::string brackets(500'000, '[');
  EXPECT_THAT(refused("{\"act\":" + brackets + std::string(500'000, ']') + "}"),
              HasSubstr("the saved state has no description"));
  const std::string message = refused("{\"act\":\"" + std::string(1 << 20, 'x') + "\"}");
  EXPECT_THAT(message, HasSubstr("its act is \"xxx"));
  EXPECT_LT(message.size(), 500u);
}

}  // namespace
}  // namespace tandem::testing
