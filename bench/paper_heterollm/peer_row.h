// Rows that compare HeteroLLM with another engine. The model knows one prefill rate and one decode bandwidth of
// that engine.
#pragma once

#include <string>

#include "bench/paper_heterollm/quantities.h"
#include "bench/paper_heterollm/row.h"

namespace tandem::paper_heterollm {

inline constexpr const char* kSlowPeers =
    "one rate per engine, from 256 tokens: at other lengths the printed ones differ";

// The setting's speed divided by the engine's; a calibration row fixes the known rates of the engine.
Row against_peer(const char* id, const std::string& what, double printed, Use use, PeerEngine (*engine)(),
                 const Setting& setting);

}  // namespace tandem::paper_heterollm
