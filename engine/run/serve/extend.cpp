// Extends one sequence by many tokens, in passes that fit the engine.
#include "engine/run/serve/extend.h"

#include <algorithm>
#include <iterator>

#include "engine/run/cache/extension.h"
#include "engine/run/pass/not_finite.h"
#include "sync/long_wait.h"

namespace tandem {
namespace {

// Asks between two chunks only, so the sequence always ends with a whole pass.
void look(const ExtendOptions& options, int64_t done) {
  if (done > 0 && options.interrupted && options.interrupted()) throw Interrupted();
}

// One pass of one sequence.
Logits run_chunk(Engine& engine, Sequence& sequence, std::span<const int32_t> ids, int64_t first, const Batch& chunk) {
  const Extension extension{&sequence, ids.subspan(static_cast<size_t>(first), static_cast<size_t>(chunk.S)),
                            chunk.logit_rows};
  return engine.extend({&extension, 1});
}

// N5: a prompt that is longer than a chunk runs in several passes. Only the last one has logits.
Logits extend_here(Engine& engine, Sequence& sequence, std::span<const int32_t> ids, const ExtendOptions& options) {
  const int64_t begin = sequence.position(), total = std::ssize(ids);
  check_ids(ids, begin, engine.model().config().vocabulary, engine.sizes().context);
  Logits logits;
  int64_t done = 0;
  for (const Batch& chunk : engine.plans().chunks_of(begin, total)) {
    look(options, done);
    logits = run_chunk(engine, sequence, ids, done, chunk);
    done += chunk.S;
    if (options.progress && total > engine.sizes().tokens) options.progress(done, total);
  }
  return logits;
}

// The room for logits bounds a chunk too. Each chunk's logits are dropped before the next chunk runs.
void extend_all_here(Engine& engine, Sequence& sequence, std::span<const int32_t> ids, const LogitsSink& sink,
                     const ExtendOptions& options) {
  const int64_t total = std::ssize(ids), most = std::min(engine.sizes().tokens, engine.sizes().logit_rows);
  check_ids(ids, sequence.position(), engine.model().config().vocabulary, engine.sizes().context);
  for (int64_t done = 0; done < total;) {
    look(options, done);
    const int64_t S = std::min(most, total - done);
    sink(done, run_chunk(engine, sequence, ids, done, {S, S}));
    done += S;
    if (options.progress && total > most) options.progress(done, total);
  }
}

}  // namespace

// Runs on the machine's thread and waits for it, as all functions do that call the engine.
Logits extend(Engine& engine, Sequence& sequence, std::span<const int32_t> ids, const ExtendOptions& options) {
  return engine.machine().orchestrator().run([&] { return extend_here(engine, sequence, ids, options); });
}

void extend_all(Engine& engine, Sequence& sequence, std::span<const int32_t> ids, const LogitsSink& sink,
                const ExtendOptions& options) {
  engine.machine().orchestrator().run([&] { extend_all_here(engine, sequence, ids, sink, options); });
}

// One test covers all rows, and the rows are searched only if it fails.
void require_finite(Engine& engine, std::span<const float> logits, int64_t first) {
  if (all_finite(logits)) return;
  const auto V = static_cast<size_t>(engine.width());
  for (size_t row = 0; all_finite(logits.subspan(row * V, V)); ++row) ++first;
  throw engine.not_finite(first);
}

}  // namespace tandem
