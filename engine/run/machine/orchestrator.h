// The thread of a machine on which devices are opened and passes run.
//
// Contract
//   A caller's own thread is never pinned to a core. This thread stays on the core that the layout gives it
//   (engine/run/pass/core_layout.h).
//   run() returns when the work has ended, and throws what it threw. Work that runs on this thread already is called
//   directly, so calls may be nested.
//   A destructor calls run_or_here(): if there is no memory to hand the work over, it runs on the calling thread.
//   Threads: any number of callers, whose works run one after another. The destructor must run on another thread.
#pragma once

#include <atomic>
#include <exception>
#include <future>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>

#include "sync/worker.h"

namespace tandem {

class Orchestrator {
 public:
  template <typename Work>
  std::invoke_result_t<Work> run(Work&& work) {
    if (thread_ == std::this_thread::get_id()) return work();
    // The thread shares the promise, because the caller may return while set_value() has not.
    const auto result = std::make_shared<std::promise<std::invoke_result_t<Work>>>();
    auto future = result->get_future();
    worker_.push([this, &work, result] {
      thread_ = std::this_thread::get_id();
      try {
        if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
          work();
          result->set_value();
        } else {
          result->set_value(work());
        }
      } catch (...) {
        result->set_exception(std::current_exception());
      }
    });
    return future.get();
  }

  template <typename Work>
  void run_or_here(Work&& work) noexcept {
    bool has_begun = false;
    try {
      run([&] {
        has_begun = true;
        work();
      });
    } catch (...) {
      if (!has_begun) work();
    }
  }

 private:
  std::atomic<std::thread::id> thread_{};  // unknown before the first work runs
  sync::Worker worker_;
};

}  // namespace tandem
