// Writes texts for callers on any thread. One thread runs the passes, and all requests share them.
//
// Contract: any thread may call write(). While the service lives, only its own thread may call the engine. The future
// that write() returns gets the text, or the exception that ended the request: an Error, or what on_text threw. The
// machine's thread calls GenerateOptions::on_text and GenerateOptions::interrupted. The destructor ends the texts that
// are being written, with the reason `interrupted`. Ownership: borrows the engine.
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

#include "engine/run/serve/batcher.h"

namespace tandem {

class TextService {
 public:
  // width: active requests at a time, as for Batcher.
  TextService(Engine& engine, int64_t width);
  ~TextService();
  TextService(const TextService&) = delete;
  TextService& operator=(const TextService&) = delete;

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

}  // namespace tandem
