// Texts for callers on any thread: one thread runs the passes, and all texts that were asked for share them.
//
// Contract: write() may be called by any thread, and the engine by nobody else while the service lives. A text's
// result, or
//   the exception that it ended with (an Error, or what on_text threw), is in its future. GenerateOptions::on_text and
//   interrupted are called by the service's thread. The destructor ends texts that are being written, as interrupted.
//   Ownership: borrows the engine.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "engine/run/batcher.h"

namespace tandem {

class TextService {
 public:
  // `width` texts at a time (Batcher).
  TextService(Engine& engine, int64_t width);
  ~TextService();
  TextService(const TextService&) = delete;
  TextService& operator=(const TextService&) = delete;

  std::future<Generation> write(std::vector<int32_t> prompt, GenerateOptions options);

 private:
  struct Asked {
    std::vector<int32_t> prompt;
    GenerateOptions options;
    std::shared_ptr<std::promise<Generation>> result;  // also that of the function that the batcher ends the text with
  };
  void work();
  void begin(Asked& asked);
  Batcher batcher_;
  const int orchestrator_;  // the core to run on; -1: any
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Asked> asked_;
  std::atomic<bool> closing_ = false;
  std::thread thread_;
};

}  // namespace tandem
