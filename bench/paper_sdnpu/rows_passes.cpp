// SF7 to SF9 and SF11: passes of several tokens, Qwen2.5-1.5B on the Redmi K70 Pro.
#include "bench/paper_sdnpu/row.h"

namespace tandem::paper_sdnpu {
namespace {

// A pass on the slow phone, whose times of passes are printed.
double slow_pass_ms(Lab& lab, int64_t tokens) { return 1e3 * lab.line(Phone::redmi_k70, kQwen15).seconds(tokens); }

}  // namespace

// Two points fix the line of a pass. The row about lost throughput tests its slope between them.
void add_pass_rows(std::vector<Row>& rows) {
  rows.push_back({"SF7", "a prompt's token in chunks of 32", "ms", 0, 8, Use::held_out, Kind::bounds,
                  [](Lab& lab) { return slow_pass_ms(lab, 32) / 32; }, "printed as less than 8"});
  rows.push_back({"SF8", "a pass on the graph of 32", "ms", 160, 160, Use::held_out, Kind::absolute,
                  [](Lab& lab) { return slow_pass_ms(lab, 32); },
                  "printed as ms a token; a pass of 672 ms would contradict SF9"});
  rows.push_back({"SF9", "a token of a draft of 32", "ms", 5.7, 5.7, Use::calibration, Kind::absolute,
                  [](Lab& lab) { return slow_pass_ms(lab, 32) / 32; }, "fixes the part of each token"});
  rows.push_back({"SF9", "a token of a draft of 1", "ms", 51.1, 51.1, Use::calibration, Kind::absolute,
                  [](Lab& lab) { return slow_pass_ms(lab, 1); }, "fixes the part that tokens share"});
  rows.push_back({"SF11", "throughput lost by drafts of 8 instead of 64", "%", 50, 50, Use::held_out, Kind::ratio,
                  [](Lab& lab) { return 100 * lost_throughput(lab.line(Phone::redmi_k70, kQwen15), 8, 64); }, ""});
}

}  // namespace tandem::paper_sdnpu
