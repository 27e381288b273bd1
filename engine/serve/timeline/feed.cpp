// Three threads meet here: the machine's thread brings passes, the server's thread brings and takes clients, and the
// feed's own thread writes. One lock guards what they share, and passes are written to clients outside of it.
#include "engine/serve/timeline/feed.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "sync/clock.h"

namespace tandem::serve {
namespace {

constexpr std::chrono::milliseconds kPause{50};  // between two events
constexpr double kRateSeconds = 1;               // the time over which tokens are counted
constexpr int64_t kPositionClass = 256;          // passes at such positions count as alike on the chip's clock
constexpr size_t kMostOnChip = 256;
constexpr double kChipPause = 1;  // seconds between two passes that are new on the chip's clock

}  // namespace

Feed::Feed(FeedOptions options)
    : options_(std::move(options)), origin_seconds_(now_seconds()), thread_([this] { work(); }) {}

Feed::~Feed() {
  close();
  thread_.join();
}

// The answer begins with an event about the server. So a client knows that it listens before anything runs.
bool Feed::add(std::shared_ptr<http::Exchange> exchange) {
  bool is_late = false;
  {
    const std::lock_guard lock(mutex_);
    if (clients_.size() >= options_.most_clients) return false;
    exchange->begin(
        {200, server_event(options_.server, options_.chip), "text/event-stream", {{"X-Accel-Buffering", "no"}}});
    is_late = is_closed_;
    if (!is_late) clients_.push_back({exchange, 0});
    clients_count_ = std::ssize(clients_);
  }
  if (is_late) {
    exchange->end();
    return true;
  }
  exchange->when_gone([this, gone = exchange.get()] { remove(gone); });
  return true;
}

void Feed::remove(const http::Exchange* gone) {
  std::shared_ptr<http::Exchange> last;  // outlives the lock: its destructor calls others
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(clients_, gone, [](const Client& client) { return client.exchange.get(); });
  if (found == clients_.end()) return;
  last = std::move(found->exchange);
  clients_.erase(found);
  clients_count_ = std::ssize(clients_);
}

// Clients are ended outside of the lock, because exchanges take locks of their own.
void Feed::close() {
  std::vector<Client> ended;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    ended.swap(clients_);
    clients_count_ = 0;
  }
  changed_.notify_one();
  for (const Client& client : ended) client.exchange->end();
}

size_t Feed::clients() const { return static_cast<size_t>(clients_count_.load()); }

// Called in front of each pass on the machine's thread. Without a client it costs one load.
PassWatch::Detail Feed::wanted(int64_t) {
  if (clients_count_ == 0) return Detail::nothing;
  return sampling_.is_due(now_seconds()) ? Detail::steps : Detail::pass;
}

// A full list drops the pass and counts it, since the machine's thread must not wait for slow clients.
void Feed::take(PassRecord record) {
  sampling_.add(record.tokens(), record.end_seconds - record.start_seconds, record.has_steps, record.end_seconds);
  {
    const std::lock_guard lock(mutex_);
    const int64_t number = ++numbers_;
    if (pending_.size() >= options_.most_pending)
      ++dropped_;
    else
      pending_.push_back({number, std::move(record)});
    if (pending_.size() > 1) return;  // the thread is awake
  }
  changed_.notify_one();
}

// Waits for a pass, then for others that come soon, and tells of all of them at once.
void Feed::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_closed_ || !pending_.empty(); });
    if (changed_.wait_for(lock, kPause, [this] { return is_closed_; })) return;
    std::vector<NumberedPass> passes;
    passes.swap(pending_);
    const int64_t dropped = std::exchange(dropped_, 0);
    lock.unlock();
    try {
      tell(passes, dropped);
      tell_modelled(passes);
    } catch (const std::exception& error) {  // too little memory, or a pass that the chip does not run
      spdlog::warn("the timeline lost some passes: {}", error.what());
    }
    lock.lock();
  }
}

// A sum over the last second, so the number falls to 0 when no text is written.
double Feed::tokens_per_second(const std::vector<NumberedPass>& passes) {
  for (const NumberedPass& pass : passes) written_.emplace_back(pass.record.end_seconds, pass.record.written);
  const double now = now_seconds();
  while (!written_.empty() && written_.front().first < now - kRateSeconds) written_.pop_front();
  const int64_t tokens = std::transform_reduce(written_.begin(), written_.end(), int64_t{0}, std::plus<>(),
                                               [](const auto& entry) { return entry.second; });
  return static_cast<double>(tokens) / kRateSeconds;
}

// Makes the passes' text once. A client with too much unread gets nothing now. Its next event says how many passes it
// has missed.
void Feed::tell(const std::vector<NumberedPass>& passes, int64_t dropped) {
  WatchedLoad load = options_.load ? options_.load() : WatchedLoad{};
  load.tokens_per_second = tokens_per_second(passes);
  const std::string json = passes_json(passes, origin_seconds_);
  std::vector<std::pair<std::shared_ptr<http::Exchange>, std::string>> events;
  {
    const std::lock_guard lock(mutex_);
    for (Client& client : clients_) {
      client.lost += dropped;
      if (client.exchange->unread_bytes() > options_.most_unread_bytes)
        client.lost += std::ssize(passes);
      else
        events.emplace_back(client.exchange, passes_event(json, load, std::exchange(client.lost, 0)));
    }
  }
  for (auto& [exchange, event] : events) exchange->write(std::move(event));
}

// The last of these passes whose steps were recorded. A pass that is new on the chip's clock is planned first, which
// takes milliseconds, so there is at most one such pass a second.
void Feed::tell_modelled(const std::vector<NumberedPass>& passes) {
  if (!options_.chip.pass) return;
  const auto recorded = std::find_if(passes.rbegin(), passes.rend(), [](const auto& p) { return p.record.has_steps; });
  if (recorded == passes.rend()) return;
  const PassRecord& record = recorded->record;
  int64_t deepest = 0;
  for (const PassRecord::Text& text : record.texts) deepest = std::max(deepest, text.position);
  const int64_t tokens = record.tokens(), position = deepest / kPositionClass * kPositionClass;
  auto found = on_chip_.find({tokens, position});
  if (found == on_chip_.end()) {
    if (now_seconds() < chip_after_seconds_) return;
    if (on_chip_.size() >= kMostOnChip) on_chip_.clear();
    chip_after_seconds_ = now_seconds() + kChipPause;
    found = on_chip_.emplace(std::pair(tokens, position), options_.chip.pass(tokens, position)).first;
  }
  const std::string event = modelled_event(options_.chip, recorded->number, tokens, position, found->second);
  std::vector<std::shared_ptr<http::Exchange>> readers;
  {
    const std::lock_guard lock(mutex_);
    for (const Client& client : clients_)
      if (client.exchange->unread_bytes() <= options_.most_unread_bytes) readers.push_back(client.exchange);
  }
  for (const auto& reader : readers) reader->write(event);
}

}  // namespace tandem::serve
