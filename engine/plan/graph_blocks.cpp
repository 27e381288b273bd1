#include "engine/plan/graph_blocks.h"

#include <algorithm>
#include <utility>

#include "engine/plan/schedule.h"

namespace tandem {
namespace {

constexpr int64_t kLayersOfABlock = 5;  // the paper does not say; figures of it suggest four to seven
constexpr int64_t kFewestBlocks = 4;    // one of them is loaded beside the others, so few blocks need much memory

// Operators of the embedding come before the layers: an encoder also adds and norms there. Other operators without a
// layer come behind the layers.
bool belongs_to(const Operator& op, std::span<const int64_t> blocks, size_t block) {
  const int64_t begin = blocks[block], end = blocks[block + 1];
  if (op.layer >= 0) return op.layer >= begin && op.layer < end;
  const bool embeds = std::holds_alternative<Embed>(op.body) || op.name.starts_with("token_embd");
  return embeds ? begin == 0 : end == blocks.back();
}

// The largest size of a decode graph that the tokens fill; without such a size as many tokens as a graph may have.
int64_t decode_graph_for(int64_t tokens, std::span<const int64_t> graph_tokens) {
  const int64_t most = std::min(tokens, kDecodeGraphTokens);
  const auto above = std::ranges::upper_bound(graph_tokens, most);
  return above == graph_tokens.begin() ? most : *std::prev(above);
}

// Adds a product in the graphs of its kind. Slices of tokens compute the bits of the whole.
void add_product(std::vector<Placed>& placed, int device, const Operator& op, GraphKind kind,
                 std::span<const int64_t> graph_tokens) {
  const int64_t tokens = tokens_of(op);
  if (kind == GraphKind::prefill || tokens <= kDecodeGraphTokens) return placed.push_back({device, op});
  for (int64_t begin = 0, end = 0; begin < tokens; begin = end) {
    end = begin + decode_graph_for(tokens - begin, graph_tokens);
    placed.push_back({device, slice_tokens(op, begin, end)});
  }
}

}  // namespace

const char* to_string(GraphKind kind) { return kind == GraphKind::prefill ? "prefill" : "decode"; }

// Blocks differ by a layer at most. There are at least four of them, unless the model has fewer layers.
std::vector<int64_t> graph_blocks(int64_t layers) {
  const int64_t count = std::max(std::min(layers, kFewestBlocks), layers / kLayersOfABlock);
  std::vector<int64_t> begins;
  for (int64_t block = 0; block <= count; ++block) begins.push_back(block * layers / count);
  return begins;
}

// A plan without the NPU needs no graph in its memory.
bool uses_graphs(const Plan& plan, const RunsGraphs& runs_graphs) {
  return std::ranges::any_of(plan.steps,
                             [&](const Step& step) { return runs_graphs[static_cast<size_t>(step.device)]; });
}

// Layers follow each other in the computation, so the operators of some layers are a part of it in any plan. Their
// order among each other stays.
Plan fragment_of(const Plan& whole, std::span<const int64_t> blocks, GraphId id, const RunsGraphs& runs_graphs,
                 std::span<const int64_t> graph_tokens, const PlaceWeight& place) {
  std::vector<Placed> placed;
  for (const Step& step : whole.steps) {
    for (const Operator& op : step.operators) {
      if (!belongs_to(op, blocks, id.block)) continue;
      const auto* matmul = std::get_if<MatMul>(&op.body);
      if (matmul == nullptr || !runs_graphs[static_cast<size_t>(step.device)]) {
        placed.push_back({step.device, op});
        continue;
      }
      MatMul moved = *matmul;
      moved.w.data = place(moved.w.data, id.kind);
      add_product(placed, step.device, with_body(op, std::move(moved)), id.kind, graph_tokens);
    }
  }
  Plan fragment = schedule(whole.name, whole.devices, std::move(placed));
  fragment.dominant = whole.dominant;
  return fragment;
}

}  // namespace tandem
