// Recorded routing in any form that people have: this program's and FLAME-MoE's lines (routing_trace.h), logs of vLLM,
// and CSV.
//
// Contract: the first line tells the form. A wrong line or layer is an Error that names it.
//   vLLM: a line of type meta, with `top_k`, `num_experts` and `layers_logged` where they are known. Each other line is
//   a token in one layer: `layer`, `topk_ids`, and where known `topk_weights`, `row` (or `token_idx`) and `req_id`. The
//   n-th lines of all layers are one token, so each layer has as many lines, with the same `row`.
//   CSV: a line of names, among them `layer` and `expert`; `weight` and `seq` where they are known. Each k lines of a
//   layer are a token.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "engine/moe/routing_trace.h"

namespace tandem {

// Numbers that a form may not have. 0: the file must say it, or it follows from the file.
struct RoutingHints {
  int64_t experts = 0;  // E; without it a log of vLLM or CSV has one more than its largest id
  int64_t used = 0;     // k; CSV needs it
};

struct RecordedRouting {
  RoutingTrace trace;
  std::string form;                // "tandem", "vllm" or "csv"
  bool has_sequences = true;       // false: the file does not say where a text begins, so it counts as one
  std::vector<std::string> notes;  // what was assumed
};

RecordedRouting read_recorded_routing(std::istream& lines, const std::string& source, const RoutingHints& hints);

}  // namespace tandem
