// Tells clients of passes while they run: `GET /tandem/timeline`.
//
// Method: the machine's thread only puts the record of a pass into a list. A thread of the feed's own makes the events,
// some twenty times a second. Some passes have their steps (step_sampling.h), and on request the clock of a chip says
// how long such a pass would take there.
//
// Contract: without a client nothing is recorded, and a pass costs the look at one number. A client that reads too
// slowly loses passes, and gets their number. Nothing here waits for a client. Threads: any. Ownership: holds the
// exchanges until their clients leave, or close().
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "engine/run/serve/pass_watch.h"
#include "engine/serve/http/exchange.h"
#include "engine/serve/timeline/events.h"
#include "engine/serve/timeline/step_sampling.h"

namespace tandem::serve {

struct FeedOptions {
  WatchedServer server;
  std::function<WatchedLoad()> load;  // its tokens per second are the feed's own
  ChipClock chip{};
  size_t most_clients = 32;
  size_t most_unread_bytes = size_t{256} << 10;  // a client with more of them loses passes
  size_t most_pending = 4096;                    // passes that the feed has not told of yet
};

class Feed : public PassWatch {
 public:
  explicit Feed(FeedOptions options);
  ~Feed() override;
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  bool add(std::shared_ptr<http::Exchange> exchange);  // false: there are enough clients
  void close();                                        // ends all answers; later clients get an answer that ends
  size_t clients() const;

  Detail wanted(int64_t tokens) override;
  void take(PassRecord record) override;

 private:
  struct Client {
    std::shared_ptr<http::Exchange> exchange;
    int64_t lost = 0;
  };
  void work();
  void remove(const http::Exchange* gone);
  void tell(const std::vector<NumberedPass>& passes, int64_t dropped);
  double tokens_per_second(const std::vector<NumberedPass>& passes);
  void tell_modelled(const std::vector<NumberedPass>& passes);

  const FeedOptions options_;
  const double origin_seconds_;
  std::atomic<int64_t> clients_count_ = 0;
  StepSampling sampling_;  // of the machine's thread
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Client> clients_;        // under the lock
  std::vector<NumberedPass> pending_;  // under the lock
  int64_t dropped_ = 0;                // passes for which `pending_` had no room; under the lock
  int64_t numbers_ = 0;                // of passes; under the lock
  bool is_closed_ = false;             // under the lock
  // Of the feed's own thread.
  std::deque<std::pair<double, int64_t>> written_;  // in the last second: when, and how many tokens
  std::map<std::pair<int64_t, int64_t>, ChipPass> on_chip_;
  double chip_after_seconds_ = 0;  // the next time for a new pass on the chip's clock
  std::thread thread_;
};

}  // namespace tandem::serve
