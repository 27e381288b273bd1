// The sides of litmus tests on threads of this process: on their own threads, and on those of devices.
#include <atomic>
#include <memory>
#include <utility>

#include "engine/device/lab/litmus_agents.h"
#include "engine/device/lab/litmus_layout.h"
#include "sync/error.h"

namespace tandem {
namespace litmus {
namespace {

using Word = std::atomic_ref<uint32_t>;
constexpr auto kAcquire = std::memory_order_acquire, kRelease = std::memory_order_release,
               kRelaxed = std::memory_order_relaxed;

// Waits by looks at the side's own word, which never has this value. A look takes some nanoseconds.
void pause_looks(uint32_t& mine, uint32_t looks) {
  for (uint32_t i = 0; i < looks; ++i)
    if (Word(mine).load(kAcquire) == 0xffffffffu) return;
}

// The same as kernels/litmus.cl, in C++. Data that the flag publishes is accessed plainly, as a step's results are, so
// that a thread sanitizer checks the flag's order too. Only data on which a test races on purpose is accessed by
// relaxed atomics.
class Side {
 public:
  explicit Side(const LitmusWalk& walk)
      : side_(walk.side),
        round_(walk.round),
        seed_(walk.seed),
        looks_(walk.looks),
        words_(walk.memory->as<uint32_t>()),
        mine_(words_[progress_word(side_)]),
        theirs_(words_[progress_word(1 - side_)]) {
    const auto number = static_cast<uint32_t>(walk.test);
    broken_ = number >= kBroken;
    kind_ = static_cast<LitmusTest>(broken_ ? number - kBroken : number);
  }

  void walk() {
    for (uint32_t i = 0; i < kLitmusInstances; ++i) words_[result_word(side_, i)] = instance(i);
    // A last number of progress, beyond those of the instances, says that this side is past all of them.
    Word(mine_).store(round_ * (kLitmusInstances + 1) + kLitmusInstances, kRelease);
  }

 private:
  // Runs one instance: meets the other side, pauses for a random time, then does this side's part of the test.
  uint32_t instance(uint32_t i) {
    here_ = round_ * (kLitmusInstances + 1) + i;
    uint32_t* const at = words_ + instance_word(kind_, i);
    const uint32_t lines = kind_ == LitmusTest::many_lines ? 1 + mixed(seed_ + i) % kMostLines : 1;
    const uint32_t met = meet();
    pause_looks(mine_, pause_before(seed_, side_, i));
    if (kind_ == LitmusTest::store_buffering) {
      Word(at[side_ * kLineWords]).store(round_, kRelease);
      return met | (Word(at[(1 - side_) * kLineWords]).load(kAcquire) == round_ ? kFlagNew : 0);
    }
    if (kind_ == LitmusTest::false_sharing) {
      // A load and a store are no atomic addition. If both sides add to one word, an update can be lost between them.
      Word word(at[broken_ ? 0 : side_]);
      for (uint32_t n = 0; n < kAdditions; ++n) word.store(word.load(kRelaxed) + 1, kRelaxed);
      return met;
    }
    return met | (side_ == 0 ? left(at, lines) : right(at, lines));
  }

  // Waits until the other side is here too, as long as looks remain. Progress rises over all rounds, and numbers are
  // compared by their difference. A side that is further ahead than one instance has not met this one.
  uint32_t meet() {
    Word(mine_).store(here_, kRelease);
    for (; looks_ > 0; --looks_) {
      const uint32_t ahead = Word(theirs_).load(kAcquire) - here_;
      if (static_cast<int32_t>(ahead) >= 0) return ahead <= 1 ? kMet : 0;
    }
    return 0;
  }

  // The word of a line of data; it moves through the line from one line to the next.
  static uint32_t& datum(uint32_t* at, uint32_t line) { return at[(1 + line) * kLineWords + line % kLineWords]; }
  bool racy() const { return broken_ || kind_ == LitmusTest::message_passing; }
  bool is_new(uint32_t* at, uint32_t line) const {
    return (racy() ? Word(datum(at, line)).load(kRelaxed) : datum(at, line)) == round_;
  }

  // Writes the data and then the flag. A broken test raises the flag first and pauses.
  uint32_t left(uint32_t* at, uint32_t lines) {
    if (broken_) {
      Word(at[0]).store(round_, kRelease);
      pause_looks(mine_, kBrokenPause);
    }
    for (uint32_t l = 0; l < lines; ++l) {
      if (racy()) {
        Word(datum(at, l)).store(round_, kRelaxed);
      } else {
        datum(at, l) = round_;
      }
    }
    if (!broken_) Word(at[0]).store(round_, kRelease);
    return 0;
  }

  // Reads the flag, and in "many lines" waits for it. When it is new, counts the lines of data that are still old.
  uint32_t right(uint32_t* at, uint32_t lines) {
    Word flag(at[0]);
    uint32_t result = flag.load(kAcquire) == round_ ? kFlagNew : 0;
    if (kind_ == LitmusTest::message_passing) return result | (is_new(at, 0) ? kDataNew : 0);
    while (!(result & kFlagNew) && looks_ > 0) {
      --looks_;
      const bool gone = static_cast<int32_t>(Word(theirs_).load(kAcquire) - here_) > 0;
      if (flag.load(kAcquire) == round_) {
        result |= kFlagNew | kCameWhileWaiting;
      } else if (gone) {
        return result | kNeverCame;  // the left side stores the flag before it goes on
      }
    }
    if (!(result & kFlagNew)) return result;
    uint32_t old = 0;
    for (uint32_t l = 0; l < lines; ++l) old += is_new(at, l) ? 0 : 1;
    return result | old << kOldLinesShift;
  }

  uint32_t side_, round_, seed_, looks_;
  uint32_t* words_;
  uint32_t &mine_, &theirs_;
  uint32_t here_ = 0;
  bool broken_ = false;
  LitmusTest kind_ = LitmusTest::message_passing;
};

// Reads `looks` lines; each line names the next one.
void read_chain(const LitmusWalk& walk) {
  uint32_t* const words = walk.memory->as<uint32_t>();
  uint32_t line = walk.round;
  for (uint32_t reads = walk.looks; reads > 0; --reads) line = Word(words[line * kLineWords]).load(kRelaxed);
  words[result_word(walk.side, 0)] = line;
}

}  // namespace

void walk_on_thread(const LitmusWalk& walk) {
  if (walk.test == LitmusTest::dependent_reads) {
    read_chain(walk);
  } else {
    Side(walk).walk();
  }
}

}  // namespace litmus

namespace {

constexpr uint32_t kLooks = 1 << 21;  // some milliseconds: the other side's core may be busy for a time slice

class WorkerAgent final : public LitmusAgent {
 public:
  WorkerAgent(std::string name, sync::Worker& thread) : name_(std::move(name)), thread_(thread) {}
  // On its own thread.
  WorkerAgent(std::string name, std::unique_ptr<sync::Worker> own)
      : name_(std::move(name)), own_(std::move(own)), thread_(*own_) {}
  const std::string& name() const override { return name_; }
  uint32_t looks() const override { return kLooks; }
  void start(const LitmusWalk& walk) override {
    thread_.push([walk] { litmus::walk_on_thread(walk); });
  }
  void finish(std::chrono::milliseconds deadline) override {
    if (!thread_.drain(deadline)) throw Error("a side of a litmus test did not end", name_, "Its core may be taken");
  }
  void release_memory() override {}

 private:
  std::string name_;
  std::unique_ptr<sync::Worker> own_;
  sync::Worker& thread_;
};

}  // namespace

std::unique_ptr<LitmusAgent> make_thread_litmus_agent(std::string name, const std::vector<int>& cores) {
  return std::make_unique<WorkerAgent>(std::move(name), std::make_unique<sync::Worker>(cores));
}

std::unique_ptr<LitmusAgent> make_worker_litmus_agent(std::string device, sync::Worker& thread) {
  return std::make_unique<WorkerAgent>(std::move(device), thread);
}

}  // namespace tandem
