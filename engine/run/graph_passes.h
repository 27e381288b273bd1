// S1 on the wall clock: runs passes as fragments, one for each block of layers, and decides before each fragment which
// graph is loaded and which one the block runs.
//
// Prompts: a pass of more than kDecodeGraphTokens tokens runs on prefill graphs. A new prompt loads them in the order
// of the blocks. During its last chunks the decode graphs are loaded in one of three ways (engine/plan/graph_switch.h):
// - Progressive loads go from the last block on. When an execution ends and a load has ended too, the load's block is
//   switched (P2).
// - Asynchronous loads happen in the last chunk, each after its block has run.
// - Synchronous loads follow the prompt.
// Progressive loads begin with the chunk, and the way is the one, that measured times predict to end first (P4, P6).
// Other passes run on decode graphs. A block whose graph is not here waits for it; other loads go on beside the blocks
// that run.
//
// Contract: Bits are those of the same plan without fragments. Errors are those of runs and of loads. After an error
// the next pass goes on with the graphs that are here. Threads: the orchestrator's. Ownership: borrows the memory.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/plan/graph_blocks.h"
#include "engine/plan/graph_switch.h"
#include "engine/run/machine/graph_memory.h"
#include "engine/run/pass/chain.h"

namespace tandem {

using GraphChain = Chain<GraphId>;

// One pass of some tokens.
struct GraphPass {
  int64_t tokens = 0;
  int64_t chunks_left = 0;  // of the prompt, behind this pass, that run on prefill graphs
  // Predicted seconds of a pass of so many tokens, for blocks that have not run yet.
  std::function<double(int64_t tokens)> predict;
};

class GraphPasses {
 public:
  explicit GraphPasses(GraphMemory& memory);

  ChainRun run(GraphChain& chain, const GraphPass& pass);
  // For measurements: all prompts load in this way; nothing: in the way that is predicted to end first.
  void use_way(std::optional<SwitchWay> way) { asked_ = way; }
  // The way of the last prompt; nothing: it has not begun to load decode graphs.
  std::optional<SwitchWay> way() const { return way_; }
  // Times on either graph as far as they are known, of a prompt of these chunks.
  GraphSwitchTimes times(const GraphPass& pass);
  GraphMemory& memory() { return memory_; }

 private:
  void begin(const GraphPass& pass);
  void end(const GraphPass& pass);
  GraphId graph_for(size_t block);
  void settle();
  bool wants_prefill(size_t block) const { return is_prefill_ && !switched_[block]; }
  std::optional<GraphId> next_load(size_t block) const;
  std::optional<GraphId> missing(size_t block) const;
  double decode_ratio(const GraphPass& pass);
  void learn(const GraphId& ran, int64_t tokens, double seconds);

  GraphMemory& memory_;
  std::optional<SwitchWay> asked_, way_;
  bool is_prefill_ = false;
  int64_t chunks_left_ = -1;    // of the prompt that the last pass belonged to; -1: none
  std::vector<bool> switched_;  // in this prompt: runs its decode graph
  size_t executed_ = 0;         // blocks of this pass that have run
  // Seconds a token in prompts, by GraphKind; 0: unknown.
  std::vector<std::array<double, 2>> seconds_a_token_;
  double predicted_ratio_ = 0;  // decode_ratio() before any block ran both graphs; 0: not predicted yet
};

}  // namespace tandem
