// The tokens of a matmul as graphs that the NPU runs one after another: what all ways of cutting have in common.
//
// Contract: a layout covers tokens 0 to some end in order; only its last graph may be padded, behind all live tokens,
// and then only as far as the buffers hold (CutLimits::token_room). An empty layout: there is none with these sizes.
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

// Exactly `tokens` tokens, largest size first.
TokenLayout exact_layout(int64_t tokens, const CutLimits& limits);
// All tokens in the smallest graph that holds them; more than the largest size holds: in several of that size.
TokenLayout padded_layout(int64_t tokens, const CutLimits& limits);
// Largest sizes first, down to token_step; the margin in the smallest graph that holds it.
TokenLayout pipe_layout(int64_t tokens, const CutLimits& limits);
// Graphs of one size, the largest up to 256, the last one padded; where that does not fit the buffers, the last tokens
// as in pipe_layout().
TokenLayout chunked_layout(int64_t tokens, const CutLimits& limits);

int64_t tokens_in(const TokenLayout& layout);
bool is_padded(const TokenLayout& layout);

// Of a matmul of S tokens and N rows: the NPU takes the first `npu_rows` rows of the layout's tokens and the GPU
// everything else, reading each weight once. No layout, no rows: all on the GPU.
Cut cut_at(int64_t S, int64_t N, const TokenLayout& layout, int64_t npu_rows);
// The same for every number of rows in steps of limits.row_step, rising, but none and all. A cut is made when it is
// asked for: a search asks for a few. Without a layout there are none.
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
// Layouts of some tokens of S, but not all: every multiple of token_step that sizes add up to, rising.
std::vector<TokenLayout> layouts_of_fewer(int64_t S, const CutLimits& limits);

}  // namespace tandem
