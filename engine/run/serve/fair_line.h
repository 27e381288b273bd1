// A line of requests in which clients take turns.
//
// The next request is that of the client with the fewest requests in work. Among equals it is the client whose last
// turn is longest ago, then the request that came first. So a client with many requests does not hold up another one.
// Contract: a plain value; not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tandem {

template <typename Request>
class FairLine {
 public:
  int64_t size() const { return std::ssize(waiting_); }
  bool empty() const { return waiting_.empty(); }
  void push(std::string client, Request request) { waiting_.push_back({std::move(client), std::move(request)}); }

  // The next request, which counts as its client's work until done().
  std::optional<std::pair<std::string, Request>> pop() {
    if (waiting_.empty()) return std::nullopt;
    const auto next = std::ranges::min_element(waiting_, {}, [this](const Waiting& each) { return rank(each.client); });
    std::pair<std::string, Request> result{std::move(next->client), std::move(next->request)};
    waiting_.erase(next);
    Turns& turns = turns_[result.first];
    ++turns.in_work;
    turns.last = ++turns_given_;
    return result;
  }
  void done(const std::string& client) {
    const auto found = turns_.find(client);
    if (found == turns_.end()) return;
    const bool waits = std::ranges::any_of(waiting_, [&](const Waiting& each) { return each.client == client; });
    if (--found->second.in_work == 0 && !waits) turns_.erase(found);
  }
  // Removes those for which `is_unwanted` is true, and returns them.
  template <typename Judge>
  std::vector<Request> remove_if(const Judge& is_unwanted) {
    std::vector<Request> removed;
    for (auto each = waiting_.begin(); each != waiting_.end();) {
      if (!is_unwanted(each->request)) {
        ++each;
        continue;
      }
      removed.push_back(std::move(each->request));
      each = waiting_.erase(each);
    }
    return removed;
  }

 private:
  struct Waiting {
    std::string client;
    Request request;
  };
  struct Turns {
    int64_t in_work = 0, last = 0;
  };
  std::pair<int64_t, int64_t> rank(const std::string& client) const {
    const auto found = turns_.find(client);
    return found == turns_.end() ? std::pair<int64_t, int64_t>{0, 0}
                                 : std::pair{found->second.in_work, found->second.last};
  }

  std::deque<Waiting> waiting_;  // in the order in which they came
  std::map<std::string, Turns> turns_;
  int64_t turns_given_ = 0;
};

}  // namespace tandem
