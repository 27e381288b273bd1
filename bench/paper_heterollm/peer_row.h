// Rows that set HeteroLLM against another engine, of which the model knows one rate of prefill and one bandwidth of
// decoding.
#pragma once

#include <string>

#include "bench/paper_heterollm/quantities.h"
#include "bench/paper_heterollm/row.h"

namespace tandem::paper_heterollm {

inline constexpr const char* kSlowPeers =
    "one rate per engine, from 256 tokens: at other lengths the printed ones differ";

// The setting's speed over the engine's; a calibration row fixes what is known of the engine.
Row against_peer(const char* id, const std::string& what, double printed, Use use, PeerEngine (*engine)(),
                 const Setting& setting);

}  // namespace tandem::paper_heterollm
