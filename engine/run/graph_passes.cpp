#include "engine/run/graph_passes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr double kNewestRun = 0.25;  // its weight in the mean time of a block

int64_t microseconds(double seconds) { return std::llround(seconds * 1e6); }

}  // namespace

GraphPasses::GraphPasses(GraphMemory& memory)
    : memory_(memory), switched_(memory.blocks()), seconds_a_token_(memory.blocks()) {}

// A fragment is prepared before its time is taken.
ChainRun GraphPasses::run(GraphChain& chain, const GraphPass& pass) {
  begin(pass);
  double started = 0;
  const auto begin_fragment = [&](size_t block) {
    const GraphId id = graph_for(block);
    chain.prepared(id);
    started = now_seconds();
    return id;
  };
  return chain.run(begin_fragment(0), [&](const GraphId& ended) -> std::optional<GraphId> {
    learn(ended, pass.tokens, now_seconds() - started);
    executed_ = ended.block + 1;
    if (executed_ < memory_.blocks()) return begin_fragment(executed_);
    end(pass);
    return std::nullopt;
  });
}

// A pass that goes on with a prompt has a chunk less behind it than the pass before. After an error there is no prompt
// to go on with.
void GraphPasses::begin(const GraphPass& pass) {
  executed_ = 0;
  is_prefill_ = pass.tokens > kDecodeGraphTokens;
  const bool goes_on = is_prefill_ && std::exchange(chunks_left_, -1) == pass.chunks_left + 1;
  if (!is_prefill_) return;
  if (!goes_on) {
    switched_.assign(switched_.size(), false);
    way_.reset();
  }
  if (!way_) way_ = way_that_begins(times(pass), asked_);
}

// Behind a prompt the loads that are left go on, while the caller looks at the logits.
void GraphPasses::end(const GraphPass& pass) {
  if (is_prefill_) chunks_left_ = pass.chunks_left;
  if (pass.chunks_left == 0) is_prefill_ = false;
  settle();
  if (memory_.is_loading()) return;
  if (const auto next = next_load(0)) memory_.start(*next);
}

// Called where an execution is about to begin.
GraphId GraphPasses::graph_for(size_t block) {
  for (;;) {
    settle();
    if (!memory_.is_loading())
      if (const auto next = next_load(block)) memory_.start(*next);
    const GraphId id{block, wants_prefill(block) ? GraphKind::prefill : GraphKind::decode};
    if (memory_.holds(id)) return id;
    memory_.wait();
  }
}

// Takes a load that has ended. While decode graphs are loaded, such a graph switches its block. A block keeps the graph
// that it wants, and both only where the memory has room for that.
void GraphPasses::settle() {
  const std::optional<GraphId> loaded = memory_.take();
  if (!loaded || memory_.keeps_both(loaded->block)) return;
  const auto [block, kind] = *loaded;
  if (is_prefill_ && way_ && kind == GraphKind::decode) switched_[block] = true;
  const GraphId other{block, wants_prefill(block) ? GraphKind::decode : GraphKind::prefill};
  if (memory_.holds({block, GraphKind::prefill}) && memory_.holds({block, GraphKind::decode})) memory_.drop(other);
}

// A graph that the block wants and that is not here.
std::optional<GraphId> GraphPasses::missing(size_t block) const {
  const GraphId id{block, wants_prefill(block) ? GraphKind::prefill : GraphKind::decode};
  return memory_.holds(id) ? std::nullopt : std::optional(id);
}

// Blocks get the graphs that they want first, in the order in which they run. Then decode graphs follow, in the
// prompt's way.
std::optional<GraphId> GraphPasses::next_load(size_t block) const {
  const size_t blocks = memory_.blocks();
  for (size_t i = 0; i < blocks; ++i)
    if (const auto id = missing((block + i) % blocks)) return id;
  if (!is_prefill_ || !way_ || way_ == SwitchWay::synchronous) return std::nullopt;
  const auto absent = [&](size_t b) { return !memory_.holds({b, GraphKind::decode}); };
  if (way_ == SwitchWay::progressive) {
    for (size_t b = blocks; b-- > 0;)
      if (absent(b)) return GraphId{b, GraphKind::decode};
  } else {
    for (size_t b = 0; b < executed_; ++b)
      if (absent(b)) return GraphId{b, GraphKind::decode};
  }
  return std::nullopt;
}

// The time of decode graphs over that of prefill graphs, for the same tokens: of all blocks that ran both, since one
// block's times are noisy. Before that it is predicted.
double GraphPasses::decode_ratio(const GraphPass& pass) {
  double prefills = 0, decodes = 0;
  for (const auto& [prefill, decode] : seconds_a_token_)
    if (prefill > 0 && decode > 0) prefills += prefill, decodes += decode;
  if (prefills > 0) return decodes / prefills;
  if (predicted_ratio_ == 0)
    predicted_ratio_ = pass.predict(kDecodeGraphTokens) / static_cast<double>(kDecodeGraphTokens) /
                       pass.predict(pass.tokens) * static_cast<double>(pass.tokens);
  return predicted_ratio_;
}

// A block that never ran a prompt takes an equal part of the predicted pass. A decode graph that is here already is not
// loaded, and then its block runs the prefill graph.
GraphSwitchTimes GraphPasses::times(const GraphPass& pass) {
  GraphSwitchTimes times{pass.chunks_left + 1, {}, {}, {}};
  const double ratio = decode_ratio(pass);
  for (size_t b = 0; b < memory_.blocks(); ++b) {
    const double known = seconds_a_token_[b][static_cast<size_t>(GraphKind::prefill)];
    const double prefill = known > 0 ? known * static_cast<double>(pass.tokens)
                                     : pass.predict(pass.tokens) / static_cast<double>(memory_.blocks());
    const bool is_here = memory_.holds({b, GraphKind::prefill}) && memory_.holds({b, GraphKind::decode});
    times.prefill.push_back(microseconds(prefill));
    times.decode.push_back(microseconds(is_here ? prefill : ratio * prefill));
    times.load.push_back(is_here ? 0 : microseconds(memory_.seconds_to_load(b)));
  }
  return times;
}

void GraphPasses::learn(const GraphId& ran, int64_t tokens, double seconds) {
  if (tokens <= kDecodeGraphTokens) return;
  double& mean = seconds_a_token_[ran.block][static_cast<size_t>(ran.kind)];
  const double newest = seconds / static_cast<double>(tokens);
  mean += (mean > 0 ? kNewestRun : 1) * (newest - mean);
}

}  // namespace tandem
