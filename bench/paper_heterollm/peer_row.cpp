#include "bench/paper_heterollm/peer_row.h"

namespace tandem::paper_heterollm {

// A row about another engine. Such an engine is one rate or one bandwidth here, so one row fixes it and the others
// test it.
Row against_peer(const char* id, const std::string& what, double printed, Use use, PeerEngine (*engine)(),
                 const Setting& setting) {
  const bool decodes = setting.tokens == 1;
  const auto speed = decodes ? decode_speed : prefill_speed;
  const char* fixes = decodes ? "fixes the engine's bandwidth" : "fixes the engine's rate";
  const char* tests = decodes ? "one bandwidth per engine, from Llama-8B" : kSlowPeers;
  return {id,
          what,
          "x",
          printed,
          printed,
          use,
          Kind::ratio,
          [=](Lab& lab) { return lab.tokens_per_second(setting) / speed(engine(), setting.model.c_str()); },
          use == Use::calibration ? fixes : tests};
}

}  // namespace tandem::paper_heterollm
