#include "engine/lab/litmus_runs.h"

#include <array>
#include <cstring>

#include "engine/device/lab/litmus_layout.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
namespace {

// A launch takes some milliseconds; another process may hold a core.
constexpr std::chrono::milliseconds kLaunchDeadline{20000};

// Broken tests have the number of their test plus litmus::kBroken.
bool broken(LitmusTest test) { return static_cast<uint32_t>(test) >= litmus::kBroken; }
LitmusTest kind(LitmusTest test) {
  return broken(test) ? static_cast<LitmusTest>(static_cast<uint32_t>(test) - litmus::kBroken) : test;
}

// All outcomes of a test, in the order of outcome().
std::vector<LitmusOutcome> outcomes_of(LitmusTest test) {
  switch (kind(test)) {
    case LitmusTest::message_passing:
      return {{"neither seen", 0, false},
              {"data before the flag", 0, false},
              {"flag without its data", 0, true},
              {"flag and data", 0, false}};
    case LitmusTest::many_lines:
      return {{"flag was up", 0, false},
              {"flag came while waiting", 0, false},
              {"not waited for", 0, false},
              {"flag without all its data", 0, true},
              {"flag never came", 0, true}};
    case LitmusTest::store_buffering:
      return {{"both old", 0, false}, {"left new", 0, false}, {"right new", 0, false}, {"both new", 0, false}};
    default:
      return {{"all updates kept", 0, false}, {"an update lost", 0, true}};
  }
}

// Index into outcomes_of(test). The right side's result tells the outcome. Store buffering also takes the left side's,
// and false sharing takes the sums in memory.
size_t outcome(LitmusTest test, uint32_t left, uint32_t right, const uint32_t* instance) {
  const bool first = right & litmus::kFlagNew, second = right & litmus::kDataNew;
  switch (kind(test)) {
    case LitmusTest::message_passing:
      return first ? (second ? 3 : 2) : (second ? 1 : 0);
    case LitmusTest::many_lines:
      if (right & litmus::kNeverCame) return 4;
      if (right >> litmus::kOldLinesShift) return 3;
      return !first ? 2 : (right & litmus::kCameWhileWaiting) ? 1 : 0;
    case LitmusTest::store_buffering:
      return (left & litmus::kFlagNew ? 1 : 0) + (right & litmus::kFlagNew ? 2 : 0);
    default: {
      // In the broken test both sides add to one word. A lost update makes its sum too small.
      const uint32_t wanted = litmus::kAdditions;
      const bool kept = broken(test) ? instance[0] == 2 * wanted : instance[0] == wanted && instance[1] == wanted;
      return kept ? 0 : 1;
    }
  }
}

// Keeps the memory until the process ends, because a side that did not end may still write. The orchestrator's thread
// calls this.
void abandon(std::unique_ptr<sync::Pool> pool) {
  static auto& kept = *new std::vector<std::unique_ptr<sync::Pool>>;
  kept.push_back(std::move(pool));
}

// Starts both sides and waits for both. If the second one cannot start, the first one must end before the error leaves.
void run_launch(LitmusAgent& a, LitmusAgent& b, LitmusWalk walk) {
  walk.side = 0;
  walk.looks = a.looks();
  a.start(walk);
  walk.side = 1;
  walk.looks = b.looks();
  try {
    b.start(walk);
  } catch (...) {
    a.finish(kLaunchDeadline);
    throw;
  }
  a.finish(kLaunchDeadline);
  b.finish(kLaunchDeadline);
}

}  // namespace

// The names of tests in tables and documents. Broken ones are for tests of the laboratory itself: they must show what
// it would find.
const char* name_of(LitmusTest test) {
  switch (test) {
    case LitmusTest::message_passing:
      return "message passing";
    case LitmusTest::many_lines:
      return "many lines";
    case LitmusTest::store_buffering:
      return "store buffering";
    case LitmusTest::false_sharing:
      return "false sharing";
    case LitmusTest::broken_message_passing:
      return "broken message passing";
    case LitmusTest::broken_many_lines:
      return "broken many lines";
    case LitmusTest::broken_false_sharing:
      return "broken false sharing";
    case LitmusTest::dependent_reads:
      return "dependent reads";
  }
  throw Error("unknown litmus test", std::to_string(static_cast<uint32_t>(test)));
}

// The tests of the command. Broken tests and reads across a bus are not among them.
const std::vector<LitmusTest>& litmus_tests() {
  static const std::vector<LitmusTest> tests = {LitmusTest::message_passing, LitmusTest::many_lines,
                                                LitmusTest::store_buffering, LitmusTest::false_sharing};
  return tests;
}

// Repeats launches until a limit is reached. After each launch both sides are idle, and the results of all instances
// are counted.
LitmusCounts run_litmus(LitmusAgent& a, LitmusAgent& b, LitmusTest test, uint64_t iterations, LitmusLimits limits) {
  TANDEM_CHECK(&a != &b, "two sides of a litmus test need two agents: " + a.name());
  auto pool = std::make_unique<sync::Pool>();  // for this test alone: no device has seen its memory
  sync::Slot& memory = pool->acquire(litmus::kBytes, sync::SlotUse::flags, "litmus memory");
  const uint32_t* words = memory.as<uint32_t>();
  LitmusCounts counts;
  counts.outcomes = outcomes_of(test);
  LitmusWalk walk;
  walk.memory = &memory;
  walk.test = test;
  const auto begin = Clock::now();
  for (; counts.together < iterations && counts.launches < limits.launches && Clock::now() - begin < limits.time;
       ++walk.round) {
    // No side runs now.
    if (kind(test) == LitmusTest::false_sharing) std::memset(memory.data(), 0, memory.size_bytes());
    walk.seed = litmus::mixed(walk.round);
    try {
      run_launch(a, b, walk);
    } catch (...) {
      abandon(std::move(pool));
      throw;
    }
    ++counts.launches;
    // Both sides have ended, so plain reads see what they wrote.
    for (uint32_t i = 0; i < kLitmusInstances; ++i) {
      const uint32_t left = words[litmus::result_word(0, i)], right = words[litmus::result_word(1, i)];
      LitmusOutcome& found = counts.outcomes[outcome(test, left, right, words + litmus::instance_word(kind(test), i))];
      ++found.count;
      counts.forbidden += found.forbidden;
      counts.together += (left & right & litmus::kMet) != 0;
      ++counts.instances;
    }
  }
  a.release_memory();
  b.release_memory();
  return counts;
}

// One line for the messages of tests that fail.
std::string to_string(const LitmusCounts& counts) {
  std::string text = std::to_string(counts.instances) + " instances in " + std::to_string(counts.launches) +
                     " launches, " + std::to_string(counts.together) + " together:";
  for (const LitmusOutcome& outcome : counts.outcomes)
    text += " " + outcome.what + (outcome.forbidden ? " (forbidden) " : " ") + std::to_string(outcome.count) + ",";
  text.pop_back();
  return text;
}

}  // namespace tandem
