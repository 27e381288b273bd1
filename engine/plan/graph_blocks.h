// S1: blocks of a model's layers with two static graphs each on the NPU, and the part of a plan that runs one block.
//
// Passes of more than kDecodeGraphTokens tokens run on prefill graphs, other passes on decode graphs. Both have packed
// weights of their own, as on the paper's NPU. A decode graph can also run a prompt's chunk, kDecodeGraphTokens tokens
// at a time.
//
// Contract: pure functions. Operators keep their bits, whichever graph they run on. Blocks and layers count from 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace tandem {

inline constexpr int64_t kDecodeGraphTokens = 64;  // one text's newest token and its drafts always fit

enum class GraphKind : uint8_t { prefill, decode };
const char* to_string(GraphKind kind);

struct GraphId {
  size_t block = 0;
  GraphKind kind = GraphKind::prefill;
  bool operator==(const GraphId&) const = default;
};

// The first layer of each block, and behind them the number of layers. A block has about five layers. Models of fewer
// than 20 layers have four blocks, or one for each layer.
std::vector<int64_t> graph_blocks(int64_t layers);

// Which of a plan's devices run graphs, by their index in the plan.
using RunsGraphs = std::vector<bool>;
bool uses_graphs(const Plan& plan, const RunsGraphs& runs_graphs);

// Gives a weight its place in the memory of a graph of this kind. A weight without such a place stays where it is.
using PlaceWeight = std::function<Operand(const Operand& weight, GraphKind kind)>;

// The part of the plan that runs one block on one of its graphs. The embedding belongs to the first block, and what
// follows the layers to the last one. blocks: by graph_blocks(). graph_tokens: the NPU's sizes, rising.
Plan fragment_of(const Plan& whole, std::span<const int64_t> blocks, GraphId id, const RunsGraphs& runs_graphs,
                 std::span<const int64_t> graph_tokens, const PlaceWeight& place);

}  // namespace tandem
