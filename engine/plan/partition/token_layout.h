// Lays out the tokens of a matmul as graphs that the NPU runs one after another. All ways of cutting use these layouts.
//
// Contract: pure functions. A layout covers tokens from 0 to some end, in order. Only its last graph may be padded,
// behind all live tokens. Padding never leaves the buffers (CutLimits::token_room). An empty layout: these sizes
// allow none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/plan/partition/cut.h"

namespace tandem {

struct TokenGraph {
  int64_t token_begin = 0, token_end = 0;
  int64_t graph_tokens = 0;  // a pre-compiled size
  bool operator==(const TokenGraph&) const = default;
};
using TokenLayout = std::vector<TokenGraph>;

// Sizes that add up to exactly `tokens`, largest first.
TokenLayout exact_layout(int64_t tokens, const CutLimits& limits);
// All tokens in the smallest graph that holds them. More tokens than the largest size begin with graphs of that size.
TokenLayout padded_layout(int64_t tokens, const CutLimits& limits);
// Largest sizes first, down to token_step; then the margin in the smallest graph that holds it. If that graph leaves
// the buffers, the margin goes in sizes that add up to it exactly.
TokenLayout pipe_layout(int64_t tokens, const CutLimits& limits);
// Graphs of one size, the largest one up to 256, and the last graph padded. If the padding leaves the buffers, the last
// tokens go as in pipe_layout().
TokenLayout chunked_layout(int64_t tokens, const CutLimits& limits);

int64_t tokens_in(const TokenLayout& layout);
bool is_padded(const TokenLayout& layout);

// The cut of a matmul of S tokens and N rows in which the NPU takes the first `npu_rows` rows of the layout's tokens.
// The GPU takes everything else, and reads each weight once. Without a layout or rows, everything is on the GPU.
Cut cut_at(int64_t S, int64_t N, const TokenLayout& layout, int64_t npu_rows);
// Such cuts for every number of rows in steps of limits.row_step, rising, without 0 and N. A cut is made on request,
// because a search asks for few of them. Without a layout there are no cuts.
class RowCuts {
 public:
  RowCuts() = default;
  RowCuts(int64_t S, int64_t N, TokenLayout layout, const CutLimits& limits)
      : S_(S), N_(N), row_step_(limits.row_step), layout_(std::move(layout)) {}
  size_t size() const { return layout_.empty() ? 0 : static_cast<size_t>((N_ - 1) / row_step_); }
  bool empty() const { return size() == 0; }
  Cut operator[](size_t i) const { return cut_at(S_, N_, layout_, static_cast<int64_t>(i + 1) * row_step_); }

 private:
  int64_t S_ = 0, N_ = 0, row_step_ = 1;
  TokenLayout layout_;
};
// Layouts of fewer than S tokens: one for each multiple of token_step that sizes add up to, rising.
std::vector<TokenLayout> layouts_of_fewer(int64_t S, const CutLimits& limits);

}  // namespace tandem
