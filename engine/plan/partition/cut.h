// A cut: the value that says how two sides, in the paper a GPU and an NPU, share one matmul Y[S, N]. Each way of
// cutting (H2 to H6) is a function in engine/plan/partition/candidates.h that lists candidates. The solver (H9) prices
// them and takes the best.
//
// Contract: tokens and rows count from 0. Rows are those of the whole matmul, so a part's rows are a slice. The parts
// of a Cut cover [0, S) x [0, N) exactly once. Parts of one side run one after another in their order, and the two
// sides run at the same time.
//
// Source: HeteroLLM, 4.1 (tensor partition strategies).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tandem {

// The two sides of a cut. A side has one device or several, which then share the rows of each of its parts.
enum class Side : uint8_t {
  general,  // takes any number of tokens: the paper's GPU
  graphs,   // takes pre-compiled numbers of tokens: the paper's NPU
};

struct Part {
  Side side = Side::general;
  int64_t token_begin = 0, token_end = 0;
  int64_t row_begin = 0, row_end = 0;
  // NPU: tokens of the graph that runs, one of the pre-compiled sizes. Tokens beyond the part's own are padding. GPU:
  // the part's tokens.
  int64_t graph_tokens = 0;

  int64_t tokens() const { return token_end - token_begin; }
  int64_t rows() const { return row_end - row_begin; }
  bool operator==(const Part&) const = default;
};

enum class CutKind : uint8_t {
  gpu_all,         // everything on the GPU
  npu_all,         // everything on the NPU in one graph: of its own size, or padded to the next one
  pipe,            // everything on the NPU in several graphs in turn, the last one perhaps padded (H12)
  row,             // H2, H6: output rows
  sequence,        // H3: one pre-compiled size on the NPU, the rest of the tokens on the GPU
  multi_sequence,  // H4: several sizes in turn on the NPU, the rest on the GPU
  hybrid,          // H5: the NPU has padded graphs or fewer tokens than all, and the GPU has some output rows too
};
const char* to_string(CutKind kind);  // "gpu", "npu", "pipe", "row", "sequence", "multi-sequence", "hybrid"

struct Cut {
  CutKind kind = CutKind::gpu_all;
  std::vector<Part> parts;
  bool operator==(const Cut&) const = default;
};
std::string to_string(
    const Cut& cut);  // "256 tokens NPU + 44 tokens GPU", "NPU rows 0..1024 (300 tokens in 512) + ..."

// The sizes and steps that the cutting functions choose from.
struct CutLimits {
  std::vector<int64_t> graph_tokens;  // the NPU's pre-compiled sizes, rising; empty: any size
  int64_t row_step = 256;             // rows of a part are a multiple of it, except for the last part (H9)
  int64_t token_step = 32;            // if tokens are cut, the NPU's tokens are a multiple of it (H9)
  int64_t token_room = 0;             // tokens that the matmul's buffers hold, padding included; 0: any number
};

// The smallest pre-compiled size that holds `tokens`, or `tokens` itself if the NPU takes any size. 0: no size does.
int64_t graph_size_for(int64_t tokens, const CutLimits& limits);

// Predicted times of parts. The function is pure. Seconds are estimated for this machine or modelled, never mixed in
// one plan.
struct CutCosts {
  // Seconds of a part on its side. `both`: the other side works too, and both share the memory's bandwidth.
  std::function<double(const Part& part, bool both)> seconds;
  double sync_seconds = 0;  // T_sync, paid if the NPU takes part; includes submission
  double copy_seconds = 0;  // T_copy: moving activations between memories; 0 with shared memory
};

}  // namespace tandem
