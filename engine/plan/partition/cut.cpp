#include "engine/plan/partition/cut.h"

#include <algorithm>

namespace tandem {
namespace {

std::string range(int64_t begin, int64_t end) { return std::to_string(begin) + ".." + std::to_string(end); }

// "256 tokens NPU", "NPU rows 0..1024 (300 tokens in 512)", "GPU tokens 512..525 rows 0..3072".
std::string part_text(const Part& part, int64_t S, int64_t N) {
  const bool all_tokens = part.tokens() == S, all_rows = part.rows() == N, padded = part.graph_tokens > part.tokens();
  std::string text = part.side == Side::general ? "GPU" : "NPU";
  if (!all_tokens && all_rows && !padded) text = std::to_string(part.tokens()) + " tokens " + text;
  if (!all_tokens && !all_rows) text += " tokens " + range(part.token_begin, part.token_end);
  if (!all_rows) text += " rows " + range(part.row_begin, part.row_end);
  if (padded) text += " (" + std::to_string(part.tokens()) + " tokens in " + std::to_string(part.graph_tokens) + ")";
  return text;
}

}  // namespace

// The names of cuts in reports. Most of them are the paper's.
const char* to_string(CutKind kind) {
  switch (kind) {
    case CutKind::gpu_all:
      return "gpu";
    case CutKind::npu_all:
      return "npu";
    case CutKind::pipe:
      return "pipe";
    case CutKind::row:
      return "row";
    case CutKind::sequence:
      return "sequence";
    case CutKind::multi_sequence:
      return "multi-sequence";
    case CutKind::hybrid:
      return "hybrid";
  }
  return "?";
}

// A cut does not name the extents of its matmul. Its parts cover the matmul, so their largest ends are the extents.
std::string to_string(const Cut& cut) {
  int64_t S = 0, N = 0;
  for (const Part& part : cut.parts) {
    S = std::max(S, part.token_end);
    N = std::max(N, part.row_end);
  }
  std::string text;
  for (const Part& part : cut.parts) text += (text.empty() ? "" : " + ") + part_text(part, S, N);
  return text;
}

// The smallest graph that holds the tokens; 0: none does. Without a list of sizes, each number is one.
int64_t graph_size_for(int64_t tokens, const CutLimits& limits) {
  if (limits.graph_tokens.empty()) return tokens;
  const auto size = std::ranges::lower_bound(limits.graph_tokens, tokens);
  return size == limits.graph_tokens.end() ? 0 : *size;
}

}  // namespace tandem
