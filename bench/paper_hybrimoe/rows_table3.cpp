// YF3 to YF11: Table III, Qwen2 with a quarter of its experts cached. The length of its prompts is not printed: a
// prompt's time is the mean over the four lengths of Fig. 7, and each length stands beside it.
#include "bench/paper_hybrimoe/printed.h"
#include "bench/paper_hybrimoe/row.h"

namespace tandem::paper_hybrimoe {
namespace {

// Table III prints seconds, and the lab computes milliseconds.
double seconds_of(Lab& lab, EngineKind engine, bool text) {
  return 1e-3 * (text ? lab.token_ms(Mixture::qwen2, 25, engine) : lab.table3_prompt_ms(engine));
}

double gain_of(Lab& lab, EngineKind engine, bool text) {
  return seconds_of(lab, EngineKind::kt, text) / seconds_of(lab, engine, text);
}

const char* note_of(const Part& part) {
  if (part.engine == EngineKind::prefetching || part.engine == EngineKind::hybrimoe)
    return "one expert of the next layer, as in the authors' program: chosen with YF5 and YF9 in view";
  return "";
}

// Each part has its seconds and its gain. A prompt's gain at each of the four lengths stands beside the mean.
void add_part(std::vector<Row>& rows, const Part& part) {
  const std::string what = std::string(part.text ? "decode, " : "prefill, ") + part.name;
  rows.push_back({part.id, what, "s", part.seconds, part.seconds, Use::held_out, Kind::absolute,
                  [part](Lab& lab) { return seconds_of(lab, part.engine, part.text); }, note_of(part)});
  rows.push_back({part.id, what + ", over kTransformers", "x", part.gain, part.gain, Use::held_out, Kind::ratio,
                  [part](Lab& lab) { return gain_of(lab, part.engine, part.text); }, note_of(part)});
  if (part.text) return;
  for (const int64_t tokens : kPrompts)
    rows.push_back({part.id, what + ", over kTransformers, " + std::to_string(tokens) + " tokens", "x", part.gain,
                    part.gain, Use::derived, Kind::ratio,
                    [part, tokens](Lab& lab) {
                      return lab.prompt_ms(Mixture::qwen2, 25, tokens, EngineKind::kt) /
                             lab.prompt_ms(Mixture::qwen2, 25, tokens, part.engine);
                    },
                    "one of the four lengths"});
}

}  // namespace

// kTransformers' two times are fitted. All parts on top of it are judged.
void add_table3_rows(std::vector<Row>& rows) {
  rows.push_back({"YF3", "prefill, kTransformers, misses are moved", "s", kKtPrompt, kKtPrompt, Use::calibration,
                  Kind::absolute, [](Lab& lab) { return seconds_of(lab, EngineKind::kt, false); },
                  "fixes the rate of the link: 15.2 GB/s, of 15.75 that PCIe 3.0 x16 has"});
  rows.push_back({"YF3", "prefill, kTransformers, misses on the processor", "s", kKtPrompt, kKtPrompt, Use::derived,
                  Kind::absolute, [](Lab& lab) { return seconds_of(lab, EngineKind::kt_on_cpu, false); },
                  "the prose's reading; Table III decides for Table I's"});
  rows.push_back({"YF7", "decode, kTransformers", "s", kKtToken, kKtToken, Use::calibration, Kind::absolute,
                  [](Lab& lab) { return seconds_of(lab, EngineKind::kt, true); },
                  "fixes the processor's time of an expert with one token"});
  for (const Part& part : kTable3) add_part(rows, part);
  rows.push_back({"YF9", "decode, + prefetching in all idle time, three layers, over kTransformers", "x", 1.15, 1.15,
                  Use::derived, Kind::ratio,
                  [](Lab& lab) {
                    return seconds_of(lab, EngineKind::kt, true) /
                           (1e-3 * lab.token_ms(Mixture::qwen2, 25, EngineKind::prefetching, kWholeLink));
                  },
                  "the link would be free for five experts a layer, which the printed gain does not show"});
}

}  // namespace tandem::paper_hybrimoe
