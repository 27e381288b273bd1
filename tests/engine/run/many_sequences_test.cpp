// Many sequences in one batch. Each has the bits that it has alone, for any other sequences in its passes.
#include "tests/engine/run/many_sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>

#include "tandem/generate.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;

using ManySequences = ManyOnDevices;

// The test mixes pieces of prompts, single tokens and forks, and compares the logits of every piece's last token.
TEST_P(ManySequences, have_the_bits_that_each_has_alone) {
  const auto alone = Engine::open(options(1, kContext));
  if (alone->contract().bits_depend_on_passes) GTEST_SKIP() << "skipped: the bits of this plan depend on its passes";
  const auto engine = Engine::open(options(kSequences, 64));
  std::mt19937 random(5);
  const auto below = [&](int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(random); };
  struct Text {
    std::vector<int32_t> ids;
    Sequence sequence;
  };
  std::vector<Text> texts;
  const auto begin = [&](int64_t number) {
    const int64_t length = 1 + (number % 3 == 0 ? below(20) : below(kContext - 1));
    if (texts.size() > 2 && number % 4 == 1) {  // begins like another text, and then differs
      const Text& other = texts[static_cast<size_t>(below(std::ssize(texts)))];
      const int64_t there = other.sequence.position(), common = below(2) == 0 ? there : below(there + 1);
      std::vector<int32_t> ids(other.ids.begin(), other.ids.begin() + common);
      const auto rest = ids_of(100 + number, std::max<int64_t>(1, length - common));
      ids.insert(ids.end(), rest.begin(), rest.end());
      ids.resize(std::min<size_t>(ids.size(), kContext));
      return Text{ids, engine->cache().fork(other.sequence, std::min<int64_t>(common, std::ssize(ids) - 1))};
    }
    return Text{ids_of(number, length), engine->cache().new_sequence()};
  };
  int64_t number = 0, compared = 0, shared = 0;
  for (; number < kSequences; ++number) texts.push_back(begin(number));
  for (int pass = 0; pass < (is_slow() ? 12 : 60); ++pass) {
    std::vector<Extension> extensions;
    std::vector<size_t> which;
    int64_t room = 64;
    for (size_t i = 0; i < texts.size() && room > 0; ++i) {
      Text& text = texts[i];
      if (text.sequence.position() == std::ssize(text.ids)) {
        text = begin(number++);
        shared += text.sequence.position();
      }
      if (below(4) == 0) continue;
      const auto rest = std::span(text.ids).subspan(static_cast<size_t>(text.sequence.position()));
      const int64_t wanted = below(2) == 0 ? 1 : 1 + below(40);
      const auto piece = rest.first(static_cast<size_t>(std::min({wanted, room, std::ssize(rest)})));
      const int64_t logit_rows = std::min<int64_t>(below(3) > 0 ? 1 + below(3) : 0, std::ssize(piece));
      extensions.push_back({&text.sequence, piece, logit_rows});
      which.push_back(i);
      room -= std::ssize(piece);
    }
    if (extensions.empty()) continue;
    const Logits found = engine->extend(extensions);
    std::vector<float> logits(found.begin(), found.end());
    size_t row = 0;
    const auto V = static_cast<size_t>(engine->model().config().vocabulary);
    for (size_t i = 0; i < extensions.size(); ++i) {
      const Text& text = texts[which[i]];
      for (int64_t left = extensions[i].logit_rows; left-- > 0; ++compared) {
        const int64_t end = text.sequence.position() - left;
        Sequence own = alone->cache().new_sequence();
        const Logits expected = extend(*alone, own, std::span(text.ids).first(static_cast<size_t>(end)));
        ASSERT_EQ(std::memcmp(expected.data(), &logits[row++ * V], V * sizeof(float)), 0)
            << "pass " << pass << ", text " << which[i] << " at " << end;
      }
    }
    ASSERT_EQ(row * V, logits.size());
  }
  EXPECT_GT(compared, is_slow() ? 40 : 250);
  EXPECT_GT(shared, 0) << "no fork had anything in common with another text";
}

INSTANTIATE_TEST_SUITE_P(On, ManySequences, ::testing::ValuesIn(ways_of_many()), test_name);

TEST_F(HostSequences, that_take_turns_leave_each_other_alone) {
  const auto engine = open(2), single = open(1);
  const auto ids = ids_of(1, 300), others = ids_of(2, 50);
  Sequence text = engine->cache().new_sequence(), other = engine->cache().new_sequence(),
           alone = single->cache().new_sequence();
  extend(*engine, text, std::span(ids).first(299));
  extend(*engine, other, others);
  const Logits found = extend(*engine, text, std::span(ids).last(1));
  EXPECT_TRUE(std::ranges::equal(found, extend(*single, alone, ids)));
}

// The pages of a single text need not be the first ones of the cache, nor lie side by side.
TEST_F(HostSequences, of_an_engine_for_one_have_the_same_bits_in_any_pages) {
  const auto engine = open(1), single = open(1);
  const auto ids = ids_of(1, 300);
  Sequence before = engine->cache().new_sequence(), text = engine->cache().new_sequence(),
           alone = single->cache().new_sequence();
  extend(*engine, before, ids_of(2, 10));
  extend(*engine, text, std::span(ids).first(200));
  before.rewind(0);
  extend(*engine, text, std::span(ids).subspan(200));
  EXPECT_GT(text.pages()[0], text.pages()[1]) << "the first page was taken, and then free again";
  const std::vector<int32_t> next{7};
  extend(*single, alone, ids);
  EXPECT_TRUE(std::ranges::equal(extend(*engine, text, next), extend(*single, alone, next)));
}

TEST_F(HostSequences, are_refused_before_anything_runs) {
  const auto engine = open(2);
  Sequence a = engine->cache().new_sequence(), b = engine->cache().new_sequence(), c = engine->cache().new_sequence();
  const auto ids = ids_of(1, 65);
  const std::span<const int32_t> some(ids);
  const auto message = [&](std::vector<Extension> extensions) {
    return message_of([&] { engine->extend(extensions); });
  };
  EXPECT_THAT(message({{&a, some.first(2)}, {&a, some.first(2)}}), HasSubstr("named twice"));
  EXPECT_THAT(message({{&a, some}}), HasSubstr("more tokens than one pass takes: 65 of 64"));
  EXPECT_THAT(message({{&a, some.first(1)}, {&b, some.first(1)}, {&c, some.first(1)}}),
              HasSubstr("3 sequences of 2 in a pass"));
  EXPECT_THAT(message({{&a, some.first(0)}}), HasSubstr("no tokens"));
  EXPECT_THAT(message({{&a, some.first(3), 3}}), HasSubstr("more logits than the engine was opened for: 3 of 2"));
  const std::vector<int32_t> wrong{400};
  EXPECT_THAT(message({{&b, some.first(3)}, {&a, wrong}}), HasSubstr("outside the vocabulary"));
  EXPECT_EQ(b.position(), 0) << "the one beside a wrong one is as it was";
  for (int i = 0; i < 10; ++i) engine->extend(std::vector<Extension>{{&a, some.first(64), 0}});
  EXPECT_THAT(message({{&b, some.first(3)}, {&a, some.first(1)}}), HasSubstr("the context is full"));
  EXPECT_EQ(b.position(), 0);
  EXPECT_EQ(engine->extend(std::vector<Extension>{{&b, some.first(3)}}).size(), 320u);
}

TEST_F(HostSequences, of_so_many_that_no_pass_holds_them_are_an_error) {
  EXPECT_THAT(message_of([&] { open(129); }), HasSubstr("1 to 128"));
  EXPECT_EQ(message_of([&] { open(128); }), "");
}

// A caller may do anything to its own sequence after the request has ended.
TEST_F(HostSequences, of_a_caller_share_no_pages_and_are_not_waited_for) {
  const auto engine = open(3);
  const auto prompt = ids_of(1, 200);
  Batcher batcher(*engine, 3);
  Sequence given = engine->cache().new_sequence(), second = engine->cache().new_sequence();
  std::vector<Generation> found;
  const auto keep = [&found](Batcher::Result result) { found.push_back(std::move(result.generation)); };
  GenerateOptions options;
  options.predict = 3;
  options.ignore_end = true;
  batcher.add(given, prompt, options, keep);
  batcher.add(second, prompt, options, keep);
  batcher.step();  // reads a part of the first prompt
  EXPECT_EQ(batcher.active(), 2) << "the second one does not wait for it";
  batcher.add(prompt, options, keep);
  batcher.step();
  EXPECT_EQ(batcher.active(), 3);
  while (batcher.step()) {
  }
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].ids, found[1].ids);
  EXPECT_EQ(found[0].ids, found[2].ids);
  EXPECT_EQ(batcher.totals().shared_tokens, 0);
  EXPECT_EQ(given.position(), 202);
  EXPECT_EQ(second.position(), 202);
}

GenerateOptions so_many(int64_t tokens, uint64_t seed = 0) {
  GenerateOptions options;
  options.predict = tokens;
  options.ignore_end = true;
  options.sampler.seed = seed;
  options.sampler.temperature = seed > 0 ? 0.8f : 0.0f;
  return options;
}

TEST_F(HostSequences, written_together_are_the_texts_that_each_is_alone) {
  for (const int64_t width : {1, 3, 8}) {
    const auto engine = open(8), alone = open(1);
    Batcher batcher(*engine, width);
    std::vector<std::optional<Generation>> found(20);
    std::vector<std::vector<int32_t>> prompts;
    for (size_t i = 0; i < found.size(); ++i) {
      std::vector<int32_t> prompt = ids_of(0, 40);  // all prompts begin like this
      const auto rest = ids_of(static_cast<int64_t>(i), 1 + static_cast<int64_t>(i * 29 % 150));
      prompt.insert(prompt.end(), rest.begin(), rest.end());
      prompts.push_back(prompt);
      batcher.add(prompt, so_many(static_cast<int64_t>(i % 7), i), [&found, i](Batcher::Result result) {
        ASSERT_FALSE(result.error);
        ASSERT_FALSE(found[i]) << "a request ended twice";
        found[i] = std::move(result.generation);
      });
    }
    while (batcher.step()) {
      EXPECT_LE(batcher.active(), width);
    }
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_TRUE(found[i]) << i;
      const Generation expected = generate(*alone, prompts[i], so_many(static_cast<int64_t>(i % 7), i));
      EXPECT_EQ(found[i]->ids, expected.ids) << i;
      EXPECT_EQ(found[i]->text, expected.text) << i;
      EXPECT_EQ(found[i]->reason, expected.reason) << i;
      EXPECT_EQ(found[i]->prompt_tokens, expected.prompt_tokens) << i;
    }
    EXPECT_GE(batcher.totals().shared_tokens, 40 * (20 - width)) << "the first ones are read beside each other";
    EXPECT_GT(batcher.totals().pass_tokens, 2 * batcher.totals().passes);
  }
}

TEST_F(HostSequences, that_cannot_be_written_end_by_themselves) {
  const auto engine = open(3);
  Batcher batcher(*engine, 3);
  std::vector<std::string> ends(4);
  const auto tell = [&](size_t i) {
    return [&ends, i](Batcher::Result result) {
      try {
        if (result.error) std::rethrow_exception(result.error);
        ends[i] = to_string(result.generation.reason);
      } catch (const Error& error) {
        ends[i] = error.what();
      }
    };
  };
  batcher.add(ids_of(0, 30), so_many(5), tell(0));
  batcher.add(ids_of(1, kContext + 1), so_many(5), tell(1));
  batcher.add(ids_of(2, kContext - 2), so_many(-1), tell(2));
  batcher.add({3, 999}, so_many(5), tell(3));
  while (batcher.step()) {
  }
  EXPECT_EQ(ends[0], "length");
  EXPECT_THAT(ends[1], HasSubstr("the context is full"));
  EXPECT_EQ(ends[2], "context_full");
  EXPECT_THAT(ends[3], HasSubstr("outside the vocabulary"));
}

// Ended texts keep their pages for other texts with the same beginning, but not if pages are needed.
TEST_F(HostSequences, give_their_pages_to_those_that_come_later) {
  const auto engine = open(2);
  Batcher batcher(*engine, 2);
  int ended = 0;
  for (int64_t i = 0; i < 9; ++i)
    batcher.add(ids_of(i, kContext - 10), so_many(10), [&](const Batcher::Result& result) {
      EXPECT_FALSE(result.error);
      ++ended;
    });
  while (batcher.step()) {
  }
  EXPECT_EQ(ended, 9);
}

}  // namespace
}  // namespace tandem::testing
