// A pass that decides while it runs: a chain of fragments, with a decision after each fragment that picks the next one.
//
// A fragment is a prepared plan. A decision is a pure function over results that the fragments have left in shared
// memory (a layer's routing, the number of accepted drafts). Decisions choose which programs run. How much a program
// does needs no decision: programs read such counts from memory, as they read positions.
//
// Contract: Threads: the orchestrator's. Ownership: borrows the executor, owns the fragments.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "engine/plan/plan.h"
#include "engine/run/pass/executor.h"
#include "engine/run/pass/lru_cache.h"
#include "sync/clock.h"

namespace tandem {

struct ChainRun {  // seconds on the wall clock
  int fragments = 0;
  double seconds = 0;
  double deciding = 0;  // part of `seconds`: from a fragment's end to the start of the next one, if that was prepared
};

template <typename Key>
class Chain {
 public:
  using Make = std::function<Plan(const Key&)>;
  using Decide = std::function<std::optional<Key>(const Key& ended)>;  // nothing: the pass has ended

  // make: returns the plan of a fragment, when it is first needed. capacity: prepared fragments that stay.
  Chain(Executor& executor, Make make, size_t capacity)
      : executor_(executor), make_(std::move(make)), prepared_(capacity) {}

  // Errors are those of Executor::run(); the chain can run again after one.
  ChainRun run(Key key, const Decide& decide) {
    ChainRun run;
    const double start = now_seconds();
    PreparedPlan* fragment = &prepared(key);
    for (;;) {
      executor_.run(*fragment);
      ++run.fragments;
      const double ended = now_seconds();
      std::optional<Key> next = decide(key);
      if (!next) break;
      key = std::move(*next);
      const Fragment* hit = prepared_.find(key);
      if (hit) run.deciding += now_seconds() - ended;
      fragment = hit ? hit->get() : &prepared(key);
    }
    run.seconds = now_seconds() - start;
    return run;
  }

  // The prepared fragment of the key; prepares it if needed.
  PreparedPlan& prepared(const Key& key) {
    if (const Fragment* hit = prepared_.find(key)) return **hit;
    const auto on_evict = [&](Fragment evicted) { executor_.drop(std::move(evicted)); };
    return *prepared_.add(key, executor_.prepare(make_(key)), on_evict);
  }

 private:
  using Fragment = std::unique_ptr<PreparedPlan>;
  Executor& executor_;
  const Make make_;
  LruCache<Key, Fragment> prepared_;
};

}  // namespace tandem
