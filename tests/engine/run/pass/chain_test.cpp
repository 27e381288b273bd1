// Fragments and the decisions between them, on the host device.
#include "engine/run/pass/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sync/error.h"
#include "tests/engine/run/pass/executor_support.h"

namespace tandem {
namespace {

enum class Part { doubles, sums, breaks };

class ChainTest : public ExecutorTest {
 protected:
  ChainTest() {
    x_.as<float>()[0] = 1;
    z_.as<float>()[0] = 0;
  }
  Plan make(Part part) {
    ++made_[part];
    if (part == Part::breaks) return broken();
    sync::Slot* const to = part == Part::doubles ? &x_ : &z_;
    return schedule("part", {"host", "npu:0"},
                    std::vector<Placed>{{0, {"add", Add{1, 16, {to, 0}, {&x_, 0}, 16, 16}}}});
  }
  Chain<Part> chain(size_t most) {
    return Chain<Part>(
        executor_, [this](const Part& part) { return make(part); }, most);
  }
  // Doubles x until it reaches `limit`, then adds it to z.
  std::optional<Part> until(float limit, Part ended) const {
    if (ended == Part::sums) return std::nullopt;
    return x_.as<float>()[0] < limit ? Part::doubles : Part::sums;
  }
  Executor executor_{pool_, {host_.get(), npu_.get()}, {sync::Policy::predict, std::chrono::seconds(60), {}}};
  std::map<Part, int> made_;
};

TEST_F(ChainTest, runs_what_each_decision_picks_from_values_that_the_fragment_before_has_left) {
  Chain<Part> chain = this->chain(4);
  const ChainRun run = chain.run(Part::doubles, [&](Part ended) { return until(16, ended); });
  EXPECT_EQ(run.fragments, 5);  // the fragments for 2, 4, 8 and 16, and the sum
  EXPECT_EQ(z_.as<float>()[0], 16.0f);
  EXPECT_GT(run.seconds, run.deciding);
  EXPECT_GT(run.deciding, 0.0);
}

TEST_F(ChainTest, prepares_a_fragment_once_and_anew_only_when_it_had_to_go) {
  Chain<Part> kept = chain(2);
  for (int run = 0; run < 3; ++run) kept.run(Part::doubles, [&](Part ended) { return until(4, ended); });
  EXPECT_EQ(made_[Part::doubles], 1);
  EXPECT_EQ(made_[Part::sums], 1);
  made_.clear();
  Chain<Part> narrow = chain(1);
  for (int run = 0; run < 3; ++run) narrow.run(Part::doubles, [&](Part ended) { return until(4, ended); });
  EXPECT_EQ(made_[Part::doubles], 3);
  EXPECT_EQ(made_[Part::sums], 3);
}

TEST_F(ChainTest, ends_with_the_error_of_a_fragment_and_runs_again) {
  Chain<Part> chain = this->chain(4);
  EXPECT_THROW(chain.run(Part::doubles, [](Part) { return Part::breaks; }), Error);
  chain.run(Part::sums, [&](Part ended) { return until(4, ended); });
  EXPECT_EQ(z_.as<float>()[0], 2.0f);
}

}  // namespace
}  // namespace tandem
