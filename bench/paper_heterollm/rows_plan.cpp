// HF14 to HF16: worked examples of cuts. HF14's value is the size that padding chooses. HF15 and HF16 say that the
// printed cut is one of the candidates: their value is the printed cut's number of tokens on the NPU, or 0. The rows
// look the cut up by the printed answer, so they are not judged. The solver's tests have the rates at which each cut
// is chosen.
#include <algorithm>

#include "bench/paper_heterollm/row.h"
#include "engine/plan/partition/candidates.h"

namespace tandem::paper_heterollm {
namespace {

constexpr const char* kLookedUp =
    "cannot miss: looked up among the candidates by the printed cut; which one is taken depends on the rates";
constexpr int64_t kRows = 4096;  // rows of the weights; the examples cut only tokens

CutLimits limits_of(std::vector<int64_t> sizes) { return {std::move(sizes), 256, 32}; }

// Tokens on the NPU of the candidate with these NPU graphs and this many GPU tokens; 0 if there is none.
double npu_tokens(const std::vector<Cut>& candidates, const std::vector<int64_t>& graphs, int64_t gpu_tokens) {
  for (const Cut& cut : candidates) {
    std::vector<int64_t> on_npu;
    int64_t on_gpu = 0, tokens = 0;
    for (const Part& part : cut.parts) {
      if (part.side == Side::graphs) {
        on_npu.push_back(part.graph_tokens);
        tokens += part.tokens();
      } else {
        on_gpu += part.tokens();
      }
    }
    if (on_npu == graphs && on_gpu == gpu_tokens) return static_cast<double>(tokens);
  }
  return 0;
}

}  // namespace

// Only HF14 can miss: it is a choice, and the other two were looked up.
void add_plan_rows(std::vector<Row>& rows) {
  rows.push_back({"HF14", "padding 300 tokens, standard sizes 128, 256, 512", "tokens", 512, 512, Use::held_out,
                  Kind::exact,
                  [](Lab&) {
                    const auto cut = padding(300, kRows, limits_of({128, 256, 512}));
                    return cut ? static_cast<double>(cut->parts.front().graph_tokens) : 0;
                  },
                  ""});
  rows.push_back({"HF15", "sequence cut of 300 tokens, 44 on the GPU", "tokens", 256, 256, Use::cannot_miss,
                  Kind::exact,
                  [](Lab&) {
                    return npu_tokens(sequence_cutting(300, kRows, limits_of({128, 256, 512})), {256}, 44);
                  },
                  kLookedUp});
  rows.push_back(
      {"HF16", "multi-sequence cut of 600 tokens: 512 and 32, 56 on the GPU", "tokens", 544, 544, Use::cannot_miss,
       Kind::exact,
       [](Lab&) {
         return npu_tokens(multi_sequence_cutting(600, kRows, limits_of({32, 64, 128, 256, 512, 1024})), {512, 32}, 56);
       },
       kLookedUp});
}

}  // namespace tandem::paper_heterollm
