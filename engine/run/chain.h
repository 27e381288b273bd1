// A pass that decides on its way: a chain of fragments, and between two of them a decision that picks the next.
//
// A fragment is a prepared plan. A decision is a pure function over what the fragments so far have left in shared
// memory (a layer's routing, how many drafts were right). It is there for what changes which programs run; what changes
// only how much a program does is read from memory by the program itself, as positions are, and needs no decision.
// Threads: the orchestrator's. Ownership: borrows the executor, owns the fragments.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "engine/plan/plan.h"
#include "engine/run/executor.h"
#include "engine/run/kept_by_key.h"
#include "sync/clock.h"

namespace tandem {

struct ChainRun {  // seconds on the wall clock
  int fragments = 0;
  double seconds = 0;
  double deciding = 0;  // of them: from the end of a fragment to the start of the next, when that is prepared already
};

template <typename Key>
class Chain {
 public:
  using Make = std::function<Plan(const Key&)>;
  using Decide = std::function<std::optional<Key>(const Key& ended)>;  // nothing: the pass has ended

  // make: the plan of a fragment, when it is first needed. most: fragments that are kept.
  Chain(Executor& executor, Make make, size_t most) : executor_(executor), make_(std::move(make)), kept_(most) {}

  // As Executor::run(): what fails is an Error, and the chain can be run again.
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
      const Fragment* kept = kept_.find(key);
      if (kept) run.deciding += now_seconds() - ended;
      fragment = kept ? kept->get() : &prepared(key);
    }
    run.seconds = now_seconds() - start;
    return run;
  }

  // Makes a fragment before it is needed.
  PreparedPlan& prepared(const Key& key) {
    if (const Fragment* kept = kept_.find(key)) return **kept;
    return *kept_.add(key, executor_.prepare(make_(key)), [&](Fragment gone) { executor_.drop(std::move(gone)); });
  }

 private:
  using Fragment = std::unique_ptr<PreparedPlan>;
  Executor& executor_;
  const Make make_;
  KeptByKey<Key, Fragment> kept_;
};

}  // namespace tandem
