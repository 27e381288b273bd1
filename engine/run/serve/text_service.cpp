// Texts of many threads in one batcher. Callers put requests into a line, and one thread of the service's own runs
// passes until the line is empty.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "engine/run/engine.h"
#include "engine/run/serve/fair_line.h"
#include "sync/clock.h"
#include "tandem/generate.h"

namespace tandem {

namespace {

// Handing a pass to the machine's thread and back costs a part of a token, so the thread gets passes for so long at
// once. Others who call an engine of the machine wait for them.
constexpr double kSecondsAtOnce = 0.02;

}  // namespace

class TextService::State {
 public:
  State(Engine& engine, int64_t width, int64_t most_waiting)
      : width_(width),
        most_waiting_(most_waiting),
        orchestrator_(engine.machine().orchestrator()),
        batcher_(engine, width),
        thread_([this] { work(); }) {}
  void close();
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  std::optional<std::vector<TextTicket>> ask(std::vector<Wish> wishes, bool is_bounded);
  Load load() const;
  void watch_passes(PassWatch* watch);
  bool between_passes(std::function<void()> work);
  void make_room(int64_t tokens) { batcher_.make_room(tokens); }

 private:
  struct Asked {
    std::vector<int32_t> prompt;
    GenerateOptions options;
    std::function<void(Batcher::Result)> on_end;
    std::shared_ptr<std::atomic<bool>> is_unwanted;
    Sequence* sequence = nullptr;
  };
  using Turn = std::pair<std::string, Asked>;
  void work();
  bool wait_for_requests();
  bool run_pass();
  void do_other_work();
  std::vector<Turn> next_turns();
  void begin(Turn& turn);
  static void end_unwritten(Asked& asked);
  static std::vector<TextTicket> refuse_all(std::vector<Wish> wishes);
  const int64_t width_, most_waiting_;
  Orchestrator& orchestrator_;
  Batcher batcher_;  // of the machine's thread, while the service's own one waits for it
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  FairLine<Asked> line_;
  std::deque<std::function<void()>> works_;  // for between two passes
  int64_t in_work_ = 0;
  Batcher::Totals totals_;
  PassWatch* watch_ = nullptr;
  std::atomic<bool> closing_ = false;
  bool has_ended_ = false;  // nobody looks at the line any longer
  std::thread thread_;
};

TextService::TextService(Engine& engine, int64_t width, int64_t most_waiting)
    : state_(std::make_unique<State>(engine, width, most_waiting)) {}
// Requests that end may still call write(), so the state stays until its thread has ended.
TextService::~TextService() { close(); }
void TextService::close() { state_->close(); }

// A request for one text whose caller wants to wait. It is never turned away.
std::future<Generation> TextService::write(std::vector<int32_t> prompt, GenerateOptions options) {
  auto result = std::make_shared<std::promise<Generation>>();
  std::future<Generation> written = result->get_future();
  std::vector<Wish> wish(1);
  wish[0].prompt = std::move(prompt);
  wish[0].options = std::move(options);
  wish[0].on_end = [result](Batcher::Result ended) {
    if (ended.error)
      result->set_exception(ended.error);
    else
      result->set_value(std::move(ended.generation));
  };
  state_->ask(std::move(wish), false);
  return written;
}

std::optional<std::vector<TextTicket>> TextService::ask(std::vector<Wish> wishes) {
  return state_->ask(std::move(wishes), true);
}

TextService::Load TextService::load() const { return state_->load(); }
void TextService::watch_passes(PassWatch* watch) { state_->watch_passes(watch); }
void TextService::make_room(int64_t tokens) { state_->make_room(tokens); }
bool TextService::between_passes(std::function<void()> work) { return state_->between_passes(std::move(work)); }

// Closing interrupts all requests. The thread ends when none is left.
void TextService::State::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

// Callers only put their request into the line. The service's own thread runs the passes, because only one thread at a
// time may call an engine. A request that can begin at once does not wait, so the bound does not count it.
std::optional<std::vector<TextTicket>> TextService::State::ask(std::vector<Wish> wishes, bool is_bounded) {
  std::vector<TextTicket> tickets;
  {
    const std::lock_guard lock(mutex_);
    const int64_t free = width_ - in_work_, will_wait = line_.size() + std::ssize(wishes) - free;
    if (is_bounded && (closing_ || will_wait > most_waiting_)) return std::nullopt;
    if (has_ended_) return refuse_all(std::move(wishes));
    for (Wish& wish : wishes) {
      auto is_unwanted = std::make_shared<std::atomic<bool>>(false);
      tickets.emplace_back(is_unwanted);
      line_.push(std::move(wish.client), {std::move(wish.prompt), std::move(wish.options), std::move(wish.on_end),
                                          std::move(is_unwanted), wish.sequence});
    }
  }
  changed_.notify_one();
  return tickets;
}

// The service was closed.
std::vector<TextTicket> TextService::State::refuse_all(std::vector<Wish> wishes) {
  for (Wish& wish : wishes) {
    Asked asked{std::move(wish.prompt), {}, std::move(wish.on_end), nullptr, nullptr};
    end_unwritten(asked);
  }
  return {};
}

// A copy under the lock, so the numbers belong together.
TextService::Load TextService::State::load() const {
  const std::lock_guard lock(mutex_);
  return {line_.size(), in_work_, totals_};
}

void TextService::State::watch_passes(PassWatch* watch) {
  const std::lock_guard lock(mutex_);
  watch_ = watch;
}

// Work of callers that must not meet a pass. It runs in the order in which it came.
bool TextService::State::between_passes(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (closing_ || has_ended_) return false;
    works_.push_back(std::move(work));
  }
  changed_.notify_one();
  return true;
}

// Under the lock: the requests whose turn it is.
std::vector<TextService::State::Turn> TextService::State::next_turns() {
  std::vector<Turn> turns;
  while (in_work_ < width_) {
    auto turn = line_.pop();
    if (!turn) break;
    ++in_work_;
    turns.push_back(std::move(*turn));
  }
  return turns;
}

// Without a request the service's own thread sleeps until one comes. False: the service was closed, and no text is left
// to write.
bool TextService::State::wait_for_requests() {
  std::unique_lock lock(mutex_);
  totals_ = batcher_.totals();
  if (batcher_.active() + batcher_.waiting() > 0) return true;
  changed_.wait(lock, [this] { return closing_ || !line_.empty() || !works_.empty(); });
  has_ended_ = closing_ && line_.empty() && works_.empty();
  return !has_ended_;
}

// On the service's own thread, because this work may call the engine.
void TextService::State::do_other_work() {
  std::deque<std::function<void()>> works;
  {
    const std::lock_guard lock(mutex_);
    works.swap(works_);
  }
  for (const auto& work : works) work();
}

// The loop of the service's thread: other work first, then passes for a short while on the machine's thread.
void TextService::State::work() {
  while (wait_for_requests()) {
    do_other_work();
    try {
      orchestrator_.run([this] {
        const double end = now_seconds() + kSecondsAtOnce;
        while (run_pass() && now_seconds() < end) continue;
      });
    } catch (const std::bad_alloc&) {  // too little memory for the hand-over; the next round tries again
    }
  }
}

// Takes over new requests, and runs a pass. False: there is nothing to write, or other work waits.
bool TextService::State::run_pass() {
  std::vector<Turn> turns;
  std::vector<Asked> unwanted;
  {
    const std::lock_guard lock(mutex_);
    if (!works_.empty()) return false;
    totals_ = batcher_.totals();
    unwanted = line_.remove_if([this](const Asked& each) { return closing_ || *each.is_unwanted; });
    turns = next_turns();
    batcher_.watch(watch_);
  }
  for (Asked& each : unwanted) end_unwritten(each);
  for (Turn& each : turns) begin(each);
  return batcher_.step();
}

// A request that was withdrawn before its turn still gets its on_end, with an empty text.
void TextService::State::end_unwritten(Asked& asked) {
  Batcher::Result result;
  result.generation.reason = StopReason::interrupted;
  result.generation.prompt_tokens = std::ssize(asked.prompt);
  asked.on_end(std::move(result));
}

// Closing the service counts as an interrupt of every request.
void TextService::State::begin(Turn& turn) {
  auto& [client, asked] = turn;
  const auto on_end = [this, client = client, end = asked.on_end](Batcher::Result ended) {
    {
      const std::lock_guard lock(mutex_);
      line_.done(client);
      --in_work_;
    }
    end(std::move(ended));
  };
  asked.options.interrupted = [this, wish = std::move(asked.options.interrupted), unwanted = asked.is_unwanted] {
    return closing_ || *unwanted || (wish && wish());
  };
  try {
    if (asked.sequence != nullptr)
      batcher_.add(*asked.sequence, std::move(asked.prompt), std::move(asked.options), on_end);
    else
      batcher_.add(std::move(asked.prompt), std::move(asked.options), on_end);
  } catch (...) {  // too little memory
    on_end({{}, std::current_exception()});
  }
}

}  // namespace tandem
