// Trees of drafts in batches. Each token of a tree has the bits that it has in a text behind its ancestors, for any
// other content of the pass. The accepted tokens of a tree are such a text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <utility>

#include "engine/device/private_slots.h"
#include "engine/run/cache/cache_regions.h"
#include "engine/run/cache/draft_tree.h"
#include "tests/engine/run/many_sequences.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;

class DraftTrees : public ManyOnDevices {
 protected:
  int64_t below(int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(random_); }
  std::vector<int32_t> random_ids(int64_t count) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>(3 + below(300)));
    return ids;
  }
  // Makes chains, bushes and trees between these.
  std::vector<int32_t> random_parents(int64_t count) {
    std::vector<int32_t> parents;
    const int64_t reach = 1 + below(6);
    for (int64_t i = 0; i < count; ++i)
      parents.push_back(static_cast<int32_t>(std::max<int64_t>(-1, i - 1 - below(reach))));
    return parents;
  }
  std::mt19937 random_{7};
};

// An extension, and its text before the extension.
struct Extended {
  std::vector<int32_t> before, ids, parents;
  int64_t logit_rows = 1;
};

// Compares logits with those of one text alone. The engine `alone` reads `before`, and then the path of each token
// behind it.
class Comparison {
 public:
  Comparison(Engine& alone, std::span<const float> logits)
      : alone_(alone), logits_(logits), V_(static_cast<size_t>(alone.model().config().vocabulary)) {}

  void next(const Extended& extended, const std::string& what) {
    if (extended.logit_rows == 0) return;
    Sequence text = alone_.cache().new_sequence();
    if (!extended.before.empty()) extend(alone_, text, extended.before);
    for (int64_t i = std::ssize(extended.ids) - extended.logit_rows; i < std::ssize(extended.ids); ++i) {
      std::vector<int32_t> path;
      if (extended.parents.empty()) {
        path.assign(extended.ids.begin(), extended.ids.begin() + i + 1);
      } else {
        for (const int32_t at : path_to(extended.parents, static_cast<int32_t>(i))) path.push_back(extended.ids[at]);
      }
      text.rewind(std::ssize(extended.before));
      const Logits expected = extend(alone_, text, path);
      ASSERT_LE((row_ + 1) * V_, logits_.size());
      ASSERT_EQ(std::memcmp(expected.data(), &logits_[row_++ * V_], V_ * sizeof(float)), 0)
          << what << ", token " << i << (extended.parents.empty() ? " of a text" : " of a tree") << " behind "
          << extended.before.size();
      (extended.parents.empty() ? of_texts : of_trees) += 1;
    }
  }
  void end() const { EXPECT_EQ(row_ * V_, logits_.size()); }
  int64_t of_texts = 0, of_trees = 0;

 private:
  Engine& alone_;
  std::span<const float> logits_;
  size_t V_, row_ = 0;
};

// Runs passes of random extensions: trees, single tokens and pieces of prompts in several texts. After each pass every
// logit is compared with that of the token's path alone. Then each tree accepts a random path.
TEST_P(DraftTrees, have_the_bits_of_their_paths_beside_any_others) {
  const auto alone = Engine::open(options(1, kContext));
  if (alone->contract().bits_depend_on_passes) GTEST_SKIP() << "skipped: the bits of this plan depend on its passes";
  EngineOptions all = options(kSequences, 96);
  all.logit_rows = 64;
  const auto engine = Engine::open(all);
  std::vector<Sequence> texts;
  // Some texts are short, some end near the edge of a page, and some end anywhere.
  const auto begin = [&](int64_t number) {
    const int64_t length = number % 4 == 0 ? below(9) : number % 4 == 3 ? below(kContext - 100) : 245 + below(14);
    Sequence text = engine->cache().new_sequence();
    const std::vector<int32_t> ids = ids_of(number, length);
    for (int64_t at = 0; at < length; at = text.position()) {
      const auto piece =
          std::span(ids).subspan(static_cast<size_t>(at), static_cast<size_t>(std::min<int64_t>(96, length - at)));
      engine->extend(std::vector<Extension>{{&text, piece, 0}});
    }
    return text;
  };
  int64_t of_texts = 0, of_trees = 0, accepted = 0, moved = 0, number = 0;
  const int64_t width = is_slow() ? 4 : kSequences;
  for (; number < width; ++number) texts.push_back(begin(number));
  for (int pass = 0; pass < (is_slow() ? 6 : 30); ++pass) {
    std::vector<Extended> extended;
    std::vector<size_t> which;
    int64_t room = 96, logit_rows = 64;
    for (size_t i = 0; i < texts.size() && room > 0; ++i) {
      if (below(5) == 0) continue;
      if (texts[i].position() + 40 > kContext) {
        texts[i] = begin(number++);
      } else if (below(12) == 0) {
        texts[i] = engine->cache().fork(texts[static_cast<size_t>(below(std::ssize(texts)))], below(300));
      }
      Extended next;
      const int64_t kind = below(5);  // a tree in two of five cases, one token, or a piece
      const int64_t wanted = kind < 2 ? 1 + below(24) : kind == 2 ? 1 : 1 + below(30);
      next.before.assign(texts[i].ids().begin(), texts[i].ids().end());
      next.ids = random_ids(std::min(wanted, room));
      if (kind < 2) next.parents = random_parents(std::ssize(next.ids));
      const int64_t most = std::min(std::ssize(next.ids), kind < 2 ? logit_rows : std::min<int64_t>(logit_rows, 2));
      next.logit_rows = below(4) > 0 ? most : below(most + 1);
      room -= std::ssize(next.ids);
      logit_rows -= next.logit_rows;
      extended.push_back(next);
      which.push_back(i);
    }
    std::vector<Extension> extensions;
    for (size_t i = 0; i < extended.size(); ++i)
      extensions.push_back({&texts[which[i]], extended[i].ids, extended[i].logit_rows, extended[i].parents});
    if (extensions.empty()) continue;
    const auto found = engine->extend(extensions);
    const std::vector<float> logits(found.begin(), found.end());
    Comparison comparison(*alone, logits);
    for (size_t i = 0; i < extended.size(); ++i) {
      comparison.next(extended[i], "pass " + std::to_string(pass) + ", sequence " + std::to_string(which[i]));
      if (HasFatalFailure()) return;
    }
    comparison.end();
    of_texts += comparison.of_texts, of_trees += comparison.of_trees;
    for (size_t i = 0; i < extended.size(); ++i) {
      Sequence& text = texts[which[i]];
      const Extended& was = extended[i];
      const auto before = std::ssize(was.before);
      if (was.parents.empty()) {
        ASSERT_EQ(text.position(), before + std::ssize(was.ids));
        continue;
      }
      ASSERT_EQ(text.position(), before) << "a tree is not appended";
      if (below(5) == 0) continue;  // accepts no token
      std::vector<int32_t> path = path_to(was.parents, static_cast<int32_t>(below(std::ssize(was.ids))));
      path.resize(static_cast<size_t>(below(4) == 0 ? below(std::ssize(path) + 1) : std::ssize(path)));
      engine->cache().accept(text, path);
      std::vector<int32_t> ids = was.before;
      for (const int32_t at : path) ids.push_back(was.ids[static_cast<size_t>(at)]);
      ASSERT_TRUE(std::ranges::equal(text.ids(), ids));
      accepted += std::ssize(path);
      if (!path.empty()) moved += path.back() + 1 != std::ssize(path);
    }
  }
  EXPECT_GT(of_trees, is_slow() ? 40 : 400);
  EXPECT_GT(of_texts, is_slow() ? 0 : 100);
  EXPECT_GT(accepted, is_slow() ? 8 : 200);
  EXPECT_GT(moved, is_slow() ? 1 : 25) << "paths that did not lie where their positions are";
}

// The ways of many texts, those of cards with memory of their own, and one with the other family of shaders.
std::vector<Way> ways_of_trees() {
  std::vector<Way> ways = ways_of_many();
  for (const std::string id : {"opencl:0", "vulkan:0"})
    ways.push_back({"gpu-only", {}, "simt", ActType::f32, KvType::f16, true, "predict", {id}});
  ways.push_back({"gpu-only", {}, "simt", ActType::f16, KvType::f16, false, "predict", {"vulkan:0"}});
  ways.push_back({"tensor", {0.5}, "simd", ActType::f16, KvType::f32, false, "predict", {"opencl:0", "npu:0", "host"}});
  return ways;
}

INSTANTIATE_TEST_SUITE_P(On, DraftTrees, ::testing::ValuesIn(ways_of_trees()), test_name);

class HostTrees : public HostSequences {
 protected:
  // Runs the extension in one pass.
  static std::vector<float> run(Engine& engine, Sequence& text, std::span<const int32_t> ids,
                                const std::vector<int32_t>& parents = {}) {
    const auto found =
        engine.extend(std::vector<Extension>{{&text, ids, parents.empty() ? 1 : std::ssize(ids), parents}});
    return {found.begin(), found.end()};
  }
  std::unique_ptr<Engine> open_for_trees(int64_t sequences = 2) const {
    EngineOptions options = engines_.options(64);
    options.context = kContext;
    options.logit_rows = 64;
    options.sequences = sequences;
    return Engine::open(options);
  }
};

TEST_F(HostTrees, of_one_token_and_of_one_path_are_as_the_text) {
  const auto engine = open_for_trees(), alone = open(1);
  const auto ids = ids_of(3, 32);
  std::vector<int32_t> parents;
  for (int32_t i = 0; i < 32; ++i) parents.push_back(i - 1);
  Sequence text = engine->cache().new_sequence(), own = alone->cache().new_sequence();
  const auto all = run(*engine, text, ids, parents);
  for (size_t i = 0; i < ids.size(); ++i) {
    const Logits expected = extend(*alone, own, std::span(ids).subspan(i, 1));
    ASSERT_TRUE(std::ranges::equal(std::span(all).subspan(i * 320, 320), expected)) << i;
  }
  engine->cache().accept(text, std::vector<int32_t>{0, 1, 2});
  own.rewind(3);
  const std::vector<int32_t> one{77};
  const auto found = run(*engine, text, one, {-1}), expected = run(*engine, text, one);
  EXPECT_EQ(found, expected) << "a tree of one token";
  EXPECT_TRUE(std::ranges::equal(found, extend(*alone, own, one)));
}

// The tokens of a tree lie on both sides of a page's edge, and so do the accepted ones.
TEST_F(HostTrees, are_accepted_over_the_edge_of_a_page) {
  const auto engine = open_for_trees(), alone = open(1);
  const auto before = ids_of(1, 254), ids = ids_of(2, 8), next = ids_of(4, 3);
  Sequence text = engine->cache().new_sequence();
  for (size_t at = 0; at < before.size(); at += 64)
    run(*engine, text, std::span(before).subspan(at, std::min<size_t>(64, before.size() - at)));
  const Sequence other =
      engine->cache().fork(text, 254);  // shares the page, which is copied before a tree is written there
  const std::vector<int32_t> parents{-1, -1, 0, 1, 3, 2, 4, 6};
  run(*engine, text, ids, parents);
  EXPECT_EQ(text.drafts().ids, ids);
  EXPECT_EQ(text.pages().size(), 2u);
  EXPECT_NE(text.pages()[0], other.pages()[0]);
  engine->cache().accept(text, std::vector<int32_t>{1, 3, 4, 6, 7});  // places 255, 257, 258, 260 and 261
  EXPECT_EQ(text.position(), 259);
  EXPECT_TRUE(text.drafts().ids.empty());
  const auto found = run(*engine, text, next);
  std::vector<int32_t> plain(text.ids().begin(), text.ids().end());
  Sequence own = alone->cache().new_sequence();
  EXPECT_TRUE(std::ranges::equal(found, extend(*alone, own, plain)));
}

// A card's memory whose first copy fails. Its later copies are done in the pool.
class FailingOnce : public PrivateSlots {
 public:
  void fetch(std::span<const Region> /*regions*/) override {}
  void store(std::span<const Region> /*regions*/) override {}
  void copy(std::span<const SlotCopy> copies) override {
    if (!std::exchange(failed_, true)) {
      copy_in_pool(copies.first(std::min<size_t>(copies.size(), 2)));
      throw Error("a copy failed", "a card");
    }
    copy_in_pool(copies);
  }

 private:
  bool failed_ = false;
};

// A caller may try again after an error. The text that it continues then is the text before.
TEST_F(HostTrees, are_as_they_were_where_a_copy_on_a_card_fails) {
  const auto engine = open_for_trees(), alone = open(1);
  const auto before = ids_of(1, 9), ids = ids_of(2, 4), next = ids_of(4, 3);
  Sequence first = engine->cache().new_sequence(), own = alone->cache().new_sequence();
  run(*engine, first, before);
  Sequence text = engine->cache().fork(first, 8);
  FailingOnce card;
  engine->cache().set_home(&card);
  EXPECT_THROW(run(*engine, text, next), Error);
  EXPECT_EQ(text.pages()[0], first.pages()[0]) << "the page with its tokens";
  const auto found = run(*engine, text, next);
  extend(*alone, own, std::span(before).first(8));
  EXPECT_TRUE(std::ranges::equal(found, extend(*alone, own, next)));

  const std::vector<int32_t> others{5};
  run(*engine, text, ids, {-1, -1, 0, 2});
  FailingOnce later;
  engine->cache().set_home(&later);
  EXPECT_THROW(engine->cache().accept(text, std::vector<int32_t>{1}), Error);
  EXPECT_TRUE(text.drafts().ids.empty()) << "a token of the tree may be overwritten";
  EXPECT_EQ(text.position(), 11);
  EXPECT_TRUE(std::ranges::equal(run(*engine, text, others), extend(*alone, own, others)));
}

TEST_F(HostTrees, need_an_engine_for_more_than_one_sequence) {
  const auto engine = open_for_trees(1);
  Sequence text = engine->cache().new_sequence();
  EXPECT_THAT(message_of([&] {
                run(*engine, text, ids_of(1, 2), {-1, 0});
              }),
              HasSubstr("takes no tree of drafts: TextOptions::sequences is 1"));
  EXPECT_EQ(text.position(), 0);
}

TEST_F(HostTrees, are_gone_after_anything_else_and_leave_their_pages) {
  const auto engine = open_for_trees();
  const auto ids = ids_of(1, 6);
  const std::vector<int32_t> parents{-1, 0, 0, 1, 1, 2}, path{0};
  Sequence text = engine->cache().new_sequence();
  const auto error = [&] { return message_of([&] { engine->cache().accept(text, path); }); };
  EXPECT_THAT(error(), HasSubstr("no tree of drafts"));
  run(*engine, text, ids, parents);
  text.rewind(0);
  EXPECT_THAT(error(), HasSubstr("no tree of drafts"));
  run(*engine, text, ids, parents);
  EXPECT_TRUE(text.fork(0).drafts().ids.empty());
  run(*engine, text, std::span(ids).first(2));
  EXPECT_THAT(error(), HasSubstr("no tree of drafts"));
  run(*engine, text, ids, parents);
  Sequence moved = std::move(text);
  engine->cache().accept(moved, std::vector<int32_t>{});
  EXPECT_EQ(moved.position(), 2) << "an empty path";
  const int64_t free = engine->cache().free_pages();
  while (moved.position() < 255) run(*engine, moved, std::span(ids).first(1));
  run(*engine, moved, ids, parents);
  EXPECT_EQ(engine->cache().free_pages(), free - 1);
  engine->cache().accept(moved, path);
  EXPECT_EQ(engine->cache().free_pages(), free) << "256 tokens have one page";
}

TEST_F(HostTrees, that_are_none_are_refused_before_anything_runs) {
  const auto engine = open_for_trees(16);
  Sequence text = engine->cache().new_sequence(), other = engine->cache().new_sequence();
  const auto ids = ids_of(1, 64);
  const auto message = [&](std::vector<int32_t> parents, size_t tokens = 3) {
    const auto some = std::span(ids).first(tokens);
    return message_of([&] {
      engine->extend(std::vector<Extension>{{&other, some.first(1)}, {&text, some, 1, parents}});
    });
  };
  EXPECT_THAT(message({-1, 0}), HasSubstr("every token of a tree has a parent: 2 parents of 3 tokens"));
  EXPECT_THAT(message({-1, 1, 0}), HasSubstr("does not come before it: token 1, its parent 1"));
  EXPECT_THAT(message({-1, 2, 0}), HasSubstr("does not come before it: token 1, its parent 2"));
  EXPECT_THAT(message({-2, 0, 0}), HasSubstr("does not come before it: token 0, its parent -2"));
  std::vector<int32_t> chain;
  for (int32_t i = 0; i < 33; ++i) chain.push_back(i - 1);
  EXPECT_THAT(message(chain, 33), HasSubstr("too deep: token 32, its parent 31"));
  EXPECT_EQ(text.position(), 0);
  EXPECT_EQ(other.position(), 0) << "the one beside a wrong one is as it was";
  for (int i = 0; i < 9; ++i) run(*engine, text, ids);
  run(*engine, text, std::span(ids).first(62));
  EXPECT_THAT(message({-1, -1, -1}), HasSubstr("the context is full"));
  EXPECT_EQ(message({-1, 0}, 2), "");
  EXPECT_THAT(message_of([&] { engine->cache().accept(text, std::vector<int32_t>{1}); }),
              HasSubstr("leaves its tree: token 1, its parent 0, before it on the path -1"));
  EXPECT_THAT(message_of([&] { engine->cache().accept(text, std::vector<int32_t>{0, 2}); }), HasSubstr("2 of 2"));
  EXPECT_EQ(text.position(), 638);
  engine->cache().accept(text, std::vector<int32_t>{0, 1});
  EXPECT_EQ(text.position(), 640);
}

TEST_F(HostTrees, have_no_more_tokens_than_a_pass_has_runs) {
  EngineOptions options = engines_.options(512);
  options.context = 600;
  options.logit_rows = 300;
  options.sequences = 5;
  const auto engine = Engine::open(options);
  const auto ids = ids_of(1, 65);
  const std::vector<int32_t> parents(65, -1);
  std::vector<Sequence> texts;
  for (int i = 0; i < 5; ++i) texts.push_back(engine->cache().new_sequence());
  std::vector<Extension> extensions{{texts.data(), ids, 1, parents}};
  EXPECT_THAT(message_of([&] { engine->extend(extensions); }), HasSubstr("too large: 65 tokens of 64"));
  extensions.clear();
  for (int i = 0; i < 4; ++i)
    extensions.push_back({&texts[i], std::span(ids).first(64), 64, std::span(parents).first(64)});
  const auto found = engine->extend(extensions);
  EXPECT_EQ(found.size(), 256u * 320);
  extensions.push_back({&texts[4], std::span(ids).first(1)});
  EXPECT_THAT(message_of([&] { engine->extend(extensions); }),
              HasSubstr("more runs of tokens than one pass takes: 257 of 256"));
}

}  // namespace
}  // namespace tandem::testing
