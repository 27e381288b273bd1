// Texts with drafts made at random, and what must hold for them: tokens, reasons to end, and keys and values of plain
// decoding, to the bit.
//
// Drafts come from earlier texts that resemble the text's own words: tokens are replaced, added and left out. So trees
// and chains of all forms are accepted whole, in part and not at all.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/run/engine.h"
#include "tandem/generate.h"
#include "tests/engine/run/host_engine.h"

namespace tandem::testing {

class RandomDrafts {
 public:
  // The engine has room for `most` texts at once, and for as many that are checked. plain: writes the texts without
  // drafts; it may be the same engine.
  RandomDrafts(Engine& engine, Engine& plain, uint32_t seed) : engine_(engine), plain_(plain), random_(seed) {}

  // Writes so many texts in the same passes, up to `tokens` long each.
  void expect_same_texts(int64_t texts, int64_t tokens) {
    std::vector<Text> all;
    for (int64_t i = 0; i < texts; ++i) all.push_back(written_plainly(tokens));
    Batcher batcher(engine_, texts);
    for (Text& text : all) {
      text.sequence.emplace(engine_.cache().new_sequence());
      text.options.spec = drafts_like(text);
      batcher.add(*text.sequence, text.prompt, text.options,
                  [&text](Batcher::Result result) { text.drafted = std::move(result); });
    }
    while (batcher.step()) {
    }
    for (Text& text : all) expect_same(text);
  }
  int64_t passes() const { return passes_; }  // with drafts
  int64_t trees() const { return trees_; }    // of these, with trees
  int64_t accepted() const { return accepted_; }

 private:
  struct Text {
    std::vector<int32_t> prompt;
    GenerateOptions options;
    Generation written;
    std::vector<int32_t> tokens;  // of the plain sequence
    std::vector<float> behind;    // logits of one more token, which reads all keys and values
    std::optional<Sequence> sequence;
    Batcher::Result drafted;
  };

  int64_t below(int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(random_); }
  bool once_in(int64_t times) { return below(times) == 0; }
  int32_t some_id() {
    return static_cast<int32_t>(3 + below(std::min<int64_t>(engine_.model().config().vocabulary, 300) - 3));
  }

  static std::vector<float> logits_behind(Engine& engine, Sequence& text) {
    const int32_t id = 7;
    const Logits logits = extend(engine, text, std::span(&id, 1));
    return {logits.begin(), logits.end()};
  }

  Text written_plainly(int64_t tokens) {
    Text text;
    for (int64_t i = 1 + below(30); i > 0; --i) text.prompt.push_back(some_id());
    text.options = so_many(1 + below(tokens));
    text.options.spec.mode = SpecMode::none;
    if (!once_in(3)) {
      text.options.sampler.temperature = 0.3f * static_cast<float>(1 + below(4));
      text.options.sampler.seed = random_();
      text.options.sampler.repeat_penalty = once_in(2) ? 1.0f : 1.2f;
    }
    Sequence plain = plain_.cache().new_sequence();
    text.written = generate(plain_, plain, text.prompt, text.options);
    text.tokens.assign(plain.ids().begin(), plain.ids().end());
    text.behind = logits_behind(plain_, plain);
    return text;
  }

  // The whole text, with about one token in so many replaced, added or left out.
  std::vector<int32_t> resembling(const Text& text, int64_t once) {
    std::vector<int32_t> tokens = text.prompt, other;
    tokens.insert(tokens.end(), text.written.ids.begin(), text.written.ids.end());
    for (const int32_t token : tokens) {
      const int64_t change = once_in(once) ? below(3) : -1;
      if (change >= 1) other.push_back(some_id());
      if (change != 0 && change != 1) other.push_back(token);
    }
    return other;
  }

  SpecOptions drafts_like(const Text& text) {
    constexpr SpecMode kModes[] = {SpecMode::sdnpu, SpecMode::sdnpu, SpecMode::sdnpu,
                                   SpecMode::sam,   SpecMode::pld,   SpecMode::automatic};
    SpecOptions spec;
    spec.mode = kModes[below(std::ssize(kModes))];
    spec.draft_max = 1 + below(engine_.sizes().logit_rows);
    spec.history = std::make_shared<TextHistory>();
    for (int64_t i = below(4); i > 0; --i) spec.history->add(resembling(text, 3 + below(12)));
    for (int64_t i = below(3); i > 0; --i) spec.predictions.push_back(resembling(text, 3 + below(12)));
    if (once_in(3)) spec.parts = {once_in(2), once_in(2)};
    spec.check = once_in(4) && engine_.options().spare_texts > 0;
    return spec;
  }

  void expect_same(Text& text) {
    const SpecOptions& spec = text.options.spec;
    SCOPED_TRACE(std::string(to_string(spec.mode)) + ", at most " + std::to_string(spec.draft_max) + " drafts, " +
                 std::to_string(text.prompt.size()) + " tokens of prompt");
    ASSERT_EQ(message_of([&] {
                if (text.drafted.error) std::rethrow_exception(text.drafted.error);
              }),
              "");
    const Generation& drafted = text.drafted.generation;
    EXPECT_EQ(drafted.ids, text.written.ids);
    EXPECT_EQ(drafted.text, text.written.text);
    EXPECT_EQ(drafted.reason, text.written.reason);
    EXPECT_TRUE(std::ranges::equal(text.sequence->ids(), text.tokens));
    EXPECT_TRUE(std::ranges::equal(logits_behind(engine_, *text.sequence), text.behind));
    passes_ += drafted.drafts.passes;
    trees_ += drafted.drafts.tree_passes;
    accepted_ += drafted.drafts.accepted;
  }

  Engine& engine_;
  Engine& plain_;
  std::mt19937 random_;
  int64_t passes_ = 0, trees_ = 0, accepted_ = 0;
};

}  // namespace tandem::testing
