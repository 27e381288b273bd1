// Texts for several threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sync/error.h"
#include "tandem/generate.h"
#include "tests/engine/run/host_engine.h"

namespace tandem::testing {
namespace {

GenerateOptions so_many(int64_t tokens) {
  GenerateOptions options;
  options.predict = tokens;
  options.ignore_end = true;
  return options;
}

class Texts : public ::testing::Test {
 protected:
  std::unique_ptr<Engine> open(int64_t sequences) const {
    EngineOptions options = engines_.options();
    options.sequences = sequences;
    return Engine::open(options);
  }
  const HostEngines engines_{"service"};
};

TEST_F(Texts, of_many_threads_are_what_each_is_alone) {
  const auto engine = open(3), alone = open(1);
  std::vector<Generation> found(12);
  {
    TextService service(*engine, 3);
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 4; ++caller)
      callers.emplace_back([&, caller] {
        for (int i = caller; i < 12; i += 4) found[i] = service.write(some_ids(3 + 5 * i), so_many(6)).get();
      });
    for (std::thread& caller : callers) caller.join();
  }
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(found[i].ids, generate(*alone, some_ids(3 + 5 * i), so_many(6)).ids) << i;
  }
}

TEST_F(Texts, that_cannot_be_written_are_errors_of_those_who_asked) {
  const auto engine = open(2);
  TextService service(*engine, 2);
  auto wrong = service.write({3, 999}, so_many(4)), right = service.write(some_ids(5), so_many(4));
  EXPECT_THROW(wrong.get(), Error);
  EXPECT_EQ(right.get().ids.size(), 4u);
}

// The caller's functions throw, or memory is missing. The error belongs to that one text, for any type of exception.
TEST_F(Texts, whose_own_functions_throw_end_with_that_and_leave_the_others_alone) {
  const auto engine = open(4), alone = open(1);
  struct Mine {};
  const auto throwing = [](auto what) { return [what](std::string_view) { throw what; }; };
  std::vector<GenerateOptions> options(5, so_many(8));
  options[0].on_text = throwing(Mine{});
  options[1].on_text = throwing(std::bad_alloc());
  options[2].interrupted = []() -> bool { throw Mine{}; };
  options[3].on_text = [called = 0](std::string_view) mutable {
    if (++called == 4) throw std::runtime_error("enough");
  };
  TextService service(*engine, 4);
  std::vector<std::future<Generation>> found;
  for (int i = 0; i < 5; ++i) found.push_back(service.write(some_ids(4 + i), options[static_cast<size_t>(i)]));
  EXPECT_THROW(found[0].get(), Mine);
  EXPECT_THROW(found[1].get(), std::bad_alloc);
  EXPECT_THROW(found[2].get(), Mine);
  EXPECT_THROW(found[3].get(), std::runtime_error);
  EXPECT_EQ(found[4].get().ids, generate(*alone, some_ids(8), so_many(8)).ids);
  EXPECT_EQ(service.write(some_ids(9), so_many(8)).get().ids, generate(*alone, some_ids(9), so_many(8)).ids)
      << "the service goes on";
}

// The end of a text passes on the characters that were held back for a stop string.
TEST_F(Texts, whose_last_piece_cannot_be_handed_over_end_with_that) {
  const auto engine = open(2), alone = open(1);
  const std::string text = generate(*alone, some_ids(6), so_many(3)).text;
  ASSERT_FALSE(text.empty());
  GenerateOptions options = so_many(3);
  options.stop = {text + "!"};
  options.on_text = [](std::string_view) { throw std::runtime_error("no room"); };
  TextService service(*engine, 2);
  EXPECT_THROW(service.write(some_ids(6), options).get(), std::runtime_error);
  EXPECT_EQ(service.write(some_ids(6), so_many(3)).get().text, text);
}

TEST_F(Texts, go_on_where_a_batchers_caller_throws_at_the_end_of_one) {
  const auto engine = open(3), alone = open(1);
  Batcher batcher(*engine, 3);
  std::vector<Generation> found(3);
  for (int i = 0; i < 3; ++i)
    batcher.add(some_ids(4 + i), so_many(5), [&found, i](Batcher::Result result) {
      if (i == 1) throw std::runtime_error("mine");
      found[static_cast<size_t>(i)] = std::move(result.generation);
    });
  int thrown = 0;
  for (bool more = true; more;) {
    try {
      more = batcher.step();
    } catch (const std::runtime_error&) {
      ++thrown;
    }
  }
  EXPECT_EQ(thrown, 1);
  for (const int i : {0, 2}) {
    EXPECT_EQ(found[static_cast<size_t>(i)].ids, generate(*alone, some_ids(4 + i), so_many(5)).ids) << i;
  }
}

TEST_F(Texts, end_as_interrupted_when_the_service_does) {
  const auto engine = open(2);
  std::future<Generation> endless, stopped;
  std::promise<void> began;
  {
    TextService service(*engine, 1);
    GenerateOptions options = so_many(100);
    options.on_text = [&, called = false](std::string_view) mutable {
      if (!std::exchange(called, true)) began.set_value();
    };
    endless = service.write(some_ids(5), options);
    GenerateOptions unwanted = so_many(100);
    unwanted.interrupted = [] { return true; };
    stopped = service.write(some_ids(6), unwanted);
    began.get_future().wait();
  }
  const Generation cut = endless.get();
  EXPECT_TRUE(cut.reason == StopReason::interrupted || cut.ids.size() == 100u) << "unless it came to its end before";
  EXPECT_EQ(stopped.get().reason, StopReason::interrupted);
}

struct Ends {
  std::atomic<int> ended = 0;
  std::vector<Generation> found = std::vector<Generation>(8);
  TextService::Wish wish(int number, int64_t tokens, const std::string& client = "") {
    return {some_ids(4 + number), so_many(tokens), client, [this, number](Batcher::Result result) {
              found[static_cast<size_t>(number)] = std::move(result.generation);
              ++ended;
            }};
  }
  void wait_for(int count) const {
    while (ended < count) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

// The first one is written, the second one waits: both end when they are cancelled, and the third one goes on.
TEST_F(Texts, that_are_cancelled_end_in_work_and_in_line) {
  const auto engine = open(1), alone = open(1);
  Ends ends;
  std::promise<void> began;
  TextService service(*engine, 1);
  TextService::Wish first = ends.wish(0, 120);
  first.options.on_text = [&, called = false](std::string_view) mutable {
    if (!std::exchange(called, true)) began.set_value();
  };
  std::vector<TextService::Wish> wishes;
  wishes.push_back(std::move(first));
  for (const int number : {1, 2}) wishes.push_back(ends.wish(number, 5));
  const auto tickets = service.ask(std::move(wishes));
  ASSERT_TRUE(tickets);
  began.get_future().wait();
  (*tickets)[1].cancel();
  (*tickets)[0].cancel();
  ends.wait_for(3);
  for (const size_t cut : {0u, 1u}) EXPECT_EQ(ends.found[cut].reason, StopReason::interrupted);
  EXPECT_LT(ends.found[0].ids.size(), 120u);
  EXPECT_EQ(ends.found[1].prompt_tokens, 5);
  EXPECT_EQ(ends.found[2].ids, generate(*alone, some_ids(6), so_many(5)).ids);
}

TEST_F(Texts, that_find_the_line_full_are_refused_all_together) {
  const auto engine = open(1);
  Ends ends;
  TextService service(*engine, 1, 1);
  std::vector<TextService::Wish> three, two;
  for (const int number : {0, 1, 2}) three.push_back(ends.wish(number, 2));
  for (const int number : {0, 1}) two.push_back(ends.wish(number, 2));
  EXPECT_FALSE(service.ask(std::move(three))) << "one is written, one waits, the third one has no place";
  EXPECT_TRUE(service.ask(std::move(two)));
  ends.wait_for(2);
  EXPECT_EQ(service.load().waiting, 0);
}

TEST_F(Texts, of_a_client_with_many_do_not_hold_up_another_client) {
  const auto engine = open(1);
  Ends ends;
  std::vector<int> order;
  TextService service(*engine, 1);
  std::vector<TextService::Wish> wishes;
  for (const int number : {0, 1, 2, 3, 4}) {
    wishes.push_back(ends.wish(number, 2, number == 4 ? "other" : "many"));
    wishes.back().on_end = [&ends, &order, number](Batcher::Result) {
      order.push_back(number);
      ++ends.ended;
    };
  }
  ASSERT_TRUE(service.ask(std::move(wishes)));
  ends.wait_for(5);
  EXPECT_EQ(order, (std::vector{0, 4, 1, 2, 3}));
}

TEST_F(Texts, are_refused_by_a_service_that_was_closed) {
  const auto engine = open(1);
  Ends ends;
  TextService service(*engine, 1);
  service.close();
  std::vector<TextService::Wish> wishes;
  wishes.push_back(ends.wish(0, 2));
  EXPECT_FALSE(service.ask(std::move(wishes)));
  EXPECT_EQ(service.write(some_ids(3), so_many(2)).get().reason, StopReason::interrupted);
}

// Room for five contexts of 128 tokens, which have a page each, and a pass wants two free ones. So the fourth text
// takes the page of the one that was not used for longest.
TEST_F(Texts, that_were_used_last_stay_for_later_prompts) {
  const auto engine = open(5);
  Batcher batcher(*engine, 1);
  int64_t shared = 0;
  const auto write = [&](int first) {
    std::vector<int32_t> prompt = some_ids(40);
    prompt.front() = first;
    batcher.add(prompt, so_many(3), [&](Batcher::Result result) { shared = result.generation.cached_prefix_tokens; });
    while (batcher.step()) {
    }
    return shared;
  };
  EXPECT_EQ(write(10), 0);
  EXPECT_EQ(write(11), 0);
  EXPECT_EQ(write(10), 39) << "all but the last token, which gives the logits";
  EXPECT_EQ(write(12), 0);
  EXPECT_EQ(write(13), 0);
  EXPECT_EQ(write(10), 39) << "it was used after text 11";
  EXPECT_EQ(write(11), 0);
}

// The second turn of a dialogue. A text that goes on elsewhere gets a copy of the page, and the ended text stays.
TEST_F(Texts, that_are_continued_give_their_pages_away) {
  const auto engine = open(5);
  Batcher batcher(*engine, 1);
  int64_t shared = 0, free_pages = -1;
  const auto write = [&](const std::vector<int32_t>& prompt) {
    std::vector<int32_t> text = prompt;
    GenerateOptions options = so_many(3);
    options.on_token = [&](const ChosenToken&) { free_pages = engine->cache().free_pages(); };
    batcher.add(prompt, options, [&](const Batcher::Result& result) {
      EXPECT_EQ(result.error, nullptr);
      shared = result.generation.cached_prefix_tokens;
      text.insert(text.end(), result.generation.ids.begin(), result.generation.ids.end());
    });
    while (batcher.step()) {
    }
    return text;
  };
  std::vector<int32_t> first = write(some_ids(40)), second = first;
  EXPECT_EQ(free_pages, 4);
  second.insert(second.end(), {7, 8, 9});
  const std::vector<int32_t> third = write(second);
  EXPECT_EQ(shared, 42) << "all but the last token, which did not run";
  EXPECT_EQ(free_pages, 4) << "no page was copied";
  EXPECT_EQ(std::vector(third.end() - 3, third.end()), generate(*open(1), second, so_many(3)).ids);
  first[41] ^= 1;
  write(first);
  EXPECT_EQ(shared, 41);
  EXPECT_EQ(free_pages, 3) << "the ended text keeps its own page";
  write(second);
  EXPECT_EQ(shared, 45) << "it is there";
}

// Prompts that batchers read at the same time. A pass has 16 tokens here.
class SharedRoom : public Texts {
 protected:
  SharedRoom() {
    EngineOptions options = engines_.options(16);
    options.sequences = options.logit_rows = 3;
    engine_ = Engine::open(options);
    batcher_.emplace(*engine_, 3);
  }
  // Writes one token behind some ids, and says in `ended` after how many passes.
  void ask(std::vector<int32_t> prompt, int64_t& ended) {
    batcher_->add(std::move(prompt), so_many(1), [this, &ended](const Batcher::Result& result) {
      EXPECT_FALSE(result.error);
      ended = batcher_->totals().passes;
      last_ = result.generation.ids;
    });
  }
  static std::vector<int32_t> prompt(int first, int tokens) {
    std::vector<int32_t> ids = some_ids(tokens);
    ids[0] = first;  // no two of them begin alike
    return ids;
  }
  std::unique_ptr<Engine> engine_;
  std::optional<Batcher> batcher_;
  std::vector<int32_t> last_;  // of the text that ended last
};

// The long one takes 7 passes alone. The short one shares the second pass.
TEST_F(SharedRoom, of_a_pass_lets_a_short_prompt_end_in_the_pass_after_it_came) {
  int64_t long_ended = 0, short_ended = 0;
  ask(prompt(10, 100), long_ended);
  batcher_->step();
  ask(prompt(11, 5), short_ended);
  batcher_->step();
  EXPECT_EQ(short_ended, 2);
  EXPECT_EQ(long_ended, 0);
  EXPECT_EQ(last_, generate(*open(1), prompt(11, 5), so_many(1)).ids);
  while (batcher_->step()) {
  }
  EXPECT_EQ(long_ended, 7);
  EXPECT_EQ(last_, generate(*open(1), prompt(10, 100), so_many(1)).ids);
}

// Half of each pass, 8 tokens of 16, is the long prompt's: 100 tokens take 13 passes.
TEST_F(SharedRoom, of_passes_lets_a_long_prompt_end_beside_short_ones_without_end) {
  int64_t long_ended = 0, any = 0;
  ask(prompt(10, 100), long_ended);
  int asked = 0;
  while (long_ended == 0 && asked < 100) {
    while (batcher_->active() + batcher_->waiting() < 4) ask(prompt(20 + asked++, 8), any);
    batcher_->step();
  }
  EXPECT_EQ(long_ended, 13);
  while (batcher_->step()) {
  }
}

// A text that is written has a token in each pass, whatever prompts come.
TEST_F(SharedRoom, of_passes_always_has_a_place_for_texts_that_are_written) {
  std::vector<int64_t> passes;
  GenerateOptions options = so_many(6);
  options.on_text = {};
  options.on_token = [&](const ChosenToken&) { passes.push_back(batcher_->totals().passes); };
  batcher_->add(prompt(9, 4), options, [](const Batcher::Result& result) { EXPECT_FALSE(result.error); });
  batcher_->step();
  int64_t any = 0;
  for (const int first : {10, 11}) ask(prompt(first, 90), any);
  while (batcher_->step()) {
  }
  EXPECT_EQ(passes, (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
}

// The two texts need hundreds of passes, and the work comes while they run.
TEST_F(Texts, let_other_work_call_the_engine_between_their_passes) {
  const auto engine = open(2), alone = open(1);
  TextService service(*engine, 2);
  auto first = service.write(some_ids(9), so_many(60)), second = service.write(some_ids(4), so_many(60));
  std::promise<std::vector<float>> done;
  const std::vector<int32_t> ids = some_ids(7);
  ASSERT_TRUE(service.between_passes([&] {
    Sequence text = engine->cache().new_sequence();
    const Logits logits = extend(*engine, text, ids);
    done.set_value({logits.begin(), logits.end()});
  }));
  {
    Sequence text = alone->cache().new_sequence();
    const Logits expected = extend(*alone, text, ids);
    EXPECT_EQ(done.get_future().get(), std::vector<float>(expected.begin(), expected.end()));
  }
  EXPECT_EQ(first.get().ids, generate(*alone, some_ids(9), so_many(60)).ids);
  EXPECT_EQ(second.get().ids, generate(*alone, some_ids(4), so_many(60)).ids);
  service.close();
  EXPECT_FALSE(service.between_passes([] { ADD_FAILURE() << "nothing runs in a closed service"; }));
}

TEST_F(Texts, are_written_in_a_sequence_of_the_callers) {
  const auto engine = open(2), alone = open(1);
  Sequence text = engine->cache().new_sequence();
  const std::vector<int32_t> ids = some_ids(9);
  extend(*engine, text, std::span(ids).first(4));
  TextService service(*engine, 2);
  std::promise<Batcher::Result> done;
  std::vector<TextService::Wish> wishes(1);
  wishes[0].prompt = ids;
  wishes[0].options = so_many(5);
  wishes[0].sequence = &text;
  wishes[0].on_end = [&](Batcher::Result result) { done.set_value(std::move(result)); };
  ASSERT_TRUE(service.ask(std::move(wishes)));
  const Batcher::Result result = done.get_future().get();
  ASSERT_FALSE(result.error);
  EXPECT_EQ(result.generation.ids, generate(*alone, ids, so_many(5)).ids);
  EXPECT_EQ(result.generation.cached_prefix_tokens, 4);
  EXPECT_EQ(text.position(), 13);  // all but the last generated token
}

}  // namespace
}  // namespace tandem::testing
