#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "tandem/generate.h"

namespace tandem {

class TextService::State {
 public:
  State(Engine& engine, int64_t width) : batcher_(engine, width), thread_([this] { work(); }) {}
  void close();
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  std::future<Generation> write(std::vector<int32_t> prompt, GenerateOptions options);

 private:
  struct Asked {
    std::vector<int32_t> prompt;
    GenerateOptions options;
    std::shared_ptr<std::promise<Generation>> result;  // shared with the batcher's on_end function
  };
  void work();
  void begin(Asked& asked);
  Batcher batcher_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Asked> asked_;
  std::atomic<bool> closing_ = false;
  std::thread thread_;
};

TextService::TextService(Engine& engine, int64_t width) : state_(std::make_unique<State>(engine, width)) {}
// Requests that end may still call write(), so the state stays until its thread has ended.
TextService::~TextService() { state_->close(); }

std::future<Generation> TextService::write(std::vector<int32_t> prompt, GenerateOptions options) {
  return state_->write(std::move(prompt), std::move(options));
}

// Closing interrupts all requests. The thread ends when none is left.
void TextService::State::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

// Callers only put their request into a list. The service's own thread runs the passes, because only one thread at a
// time may call an engine.
std::future<Generation> TextService::State::write(std::vector<int32_t> prompt, GenerateOptions options) {
  Asked asked{std::move(prompt), std::move(options), std::make_shared<std::promise<Generation>>()};
  std::future<Generation> result = asked.result->get_future();
  {
    const std::lock_guard lock(mutex_);
    asked_.push_back(std::move(asked));
  }
  changed_.notify_one();
  return result;
}

// Runs passes as long as there are requests, and takes over new requests between two passes. Without a request it
// sleeps until one comes or the service closes.
void TextService::State::work() {
  for (;;) {
    std::vector<Asked> asked;
    {
      std::unique_lock lock(mutex_);
      const bool is_idle = batcher_.active() + batcher_.waiting() == 0;
      if (is_idle) changed_.wait(lock, [this] { return closing_ || !asked_.empty(); });
      asked.swap(asked_);
      if (is_idle && asked.empty()) return;  // the service is closing
    }
    for (Asked& one : asked) {
      try {
        begin(one);
      } catch (...) {  // too little memory
        one.result->set_exception(std::current_exception());
      }
    }
    try {
      batcher_.step();
    } catch (const std::bad_alloc&) {  // too little memory for the hand-over; the next round tries again
    }
  }
}

// Closing the service counts as an interrupt of every request.
void TextService::State::begin(Asked& asked) {
  asked.options.interrupted = [this, wish = std::move(asked.options.interrupted)] {
    return closing_ || (wish && wish());
  };
  batcher_.add(std::move(asked.prompt), std::move(asked.options), [result = asked.result](Batcher::Result written) {
    if (written.error)
      result->set_exception(written.error);
    else
      result->set_value(std::move(written.generation));
  });
}

}  // namespace tandem
