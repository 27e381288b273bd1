#include "engine/plan/partition/token_layout.h"

#include <algorithm>

#include "sync/error.h"

namespace tandem {
namespace {

constexpr int64_t kChunkTokens = 256;  // largest size of chunked prefill (H12)

// A room of 0 stands for any number of tokens.
bool has_room(int64_t tokens, const CutLimits& limits) { return limits.token_room == 0 || tokens <= limits.token_room; }

// The largest size of at most `tokens`; 0: none.
int64_t largest_up_to(int64_t tokens, const CutLimits& limits) {
  if (limits.graph_tokens.empty()) return tokens;
  const auto above = std::ranges::upper_bound(limits.graph_tokens, tokens);
  return above == limits.graph_tokens.begin() ? 0 : *(above - 1);
}

// Each graph begins where the one before it ended, so a layout has no holes.
void append(TokenLayout& layout, int64_t tokens, int64_t graph_tokens) {
  const int64_t begin = tokens_in(layout);
  layout.push_back({begin, begin + tokens, graph_tokens});
}

// Extends the layout to `tokens` tokens. Takes the largest size that fits as long as it has token_step tokens or more,
// then pads the margin. If the padding leaves the buffers, the margin goes in sizes that add up to it exactly. Empty:
// there are no such sizes.
TokenLayout piped_behind(TokenLayout layout, int64_t tokens, const CutLimits& limits) {
  while (tokens_in(layout) < tokens) {
    const int64_t rest = tokens - tokens_in(layout), margin = graph_size_for(rest, limits);
    const int64_t size = largest_up_to(rest, limits);
    if (size >= limits.token_step || margin == 0) {
      append(layout, size, size);
    } else if (has_room(tokens_in(layout) + margin, limits)) {
      append(layout, rest, margin);
    } else {
      const TokenLayout unpadded = exact_layout(rest, limits);
      if (unpadded.empty()) return {};
      for (const TokenGraph& graph : unpadded) append(layout, graph.graph_tokens, graph.graph_tokens);
    }
  }
  return layout;
}

// A cut of rows without padding is `row`. With padding, or with fewer tokens, it is `hybrid`.
CutKind kind_of(int64_t S, int64_t N, const TokenLayout& layout, int64_t npu_rows) {
  const bool one_graph = layout.size() == 1, all_tokens = tokens_in(layout) == S;
  if (npu_rows < N) return all_tokens && !is_padded(layout) ? CutKind::row : CutKind::hybrid;
  if (all_tokens) return one_graph ? CutKind::npu_all : CutKind::pipe;
  return one_graph ? CutKind::sequence : CutKind::multi_sequence;
}

}  // namespace

int64_t tokens_in(const TokenLayout& layout) { return layout.empty() ? 0 : layout.back().token_end; }

// Only the last graph may be padded, so no other one is looked at.
bool is_padded(const TokenLayout& layout) {
  return !layout.empty() && layout.back().graph_tokens > layout.back().token_end - layout.back().token_begin;
}

// Greedy: takes the largest size that fits. Empty if a rest is smaller than every size.
TokenLayout exact_layout(int64_t tokens, const CutLimits& limits) {
  TokenLayout layout;
  while (tokens_in(layout) < tokens) {
    const int64_t size = largest_up_to(tokens - tokens_in(layout), limits);
    if (size == 0) return {};
    append(layout, size, size);
  }
  return layout;
}

// H12: graphs of the largest size, until one graph holds all tokens that are left.
TokenLayout padded_layout(int64_t tokens, const CutLimits& limits) {
  TokenLayout layout;
  int64_t size = 0;
  while ((size = graph_size_for(tokens - tokens_in(layout), limits)) == 0)
    append(layout, limits.graph_tokens.back(), limits.graph_tokens.back());
  if (!has_room(tokens_in(layout) + size, limits)) return {};
  append(layout, tokens - tokens_in(layout), size);
  return layout;
}

TokenLayout pipe_layout(int64_t tokens, const CutLimits& limits) { return piped_behind({}, tokens, limits); }

// If all sizes are above kChunkTokens, the smallest one is taken.
TokenLayout chunked_layout(int64_t tokens, const CutLimits& limits) {
  int64_t size = largest_up_to(kChunkTokens, limits);
  if (size == 0) size = limits.graph_tokens.front();
  TokenLayout layout;
  while (tokens - tokens_in(layout) >= size) append(layout, size, size);
  const int64_t margin = tokens - tokens_in(layout);
  if (margin == 0) return layout;
  if (!has_room(tokens_in(layout) + size, limits)) return piped_behind(layout, tokens, limits);
  append(layout, margin, size);
  return layout;
}

// The GPU's first part has the rows that the NPU leaves, for all tokens. Its second part has the tokens that are left.
Cut cut_at(int64_t S, int64_t N, const TokenLayout& layout, int64_t npu_rows) {
  if (layout.empty() || npu_rows == 0) return {CutKind::gpu_all, {{Side::general, 0, S, 0, N, S}}};
  const int64_t tokens = tokens_in(layout);
  TANDEM_CHECK(tokens <= S && npu_rows <= N, "the NPU's part of a cut lies in the matmul");
  Cut cut{kind_of(S, N, layout, npu_rows), {}};
  for (const TokenGraph& graph : layout)
    cut.parts.push_back({Side::graphs, graph.token_begin, graph.token_end, 0, npu_rows, graph.graph_tokens});
  if (npu_rows < N) cut.parts.push_back({Side::general, 0, S, npu_rows, N, S});
  if (tokens < S) cut.parts.push_back({Side::general, tokens, S, 0, npu_rows, S - tokens});
  return cut;
}

// The tokens behind such a layout go to the GPU, so the layout must not be padded: its padding would be live tokens.
std::vector<TokenLayout> layouts_of_fewer(int64_t S, const CutLimits& limits) {
  std::vector<TokenLayout> layouts;
  for (int64_t tokens = limits.token_step; tokens < S; tokens += limits.token_step) {
    TokenLayout layout = exact_layout(tokens, limits);
    if (!layout.empty()) layouts.push_back(std::move(layout));
  }
  return layouts;
}

}  // namespace tandem
