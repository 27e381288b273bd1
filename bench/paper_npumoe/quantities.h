// The quantities that rows compare and that calibration fits, all from the model.
#pragma once

#include <utility>

#include "bench/paper_npumoe/lab.h"

namespace tandem::paper_npumoe {

// Table 5: the 16 experts of PhiMoE in graphs of G, C rows for each expert; a slot is one of the 16 * C rows.
struct GroupRow {
  int64_t G = 0, C = 0;
  GraphOrder order = GraphOrder::serial;
};
double ms_per_slot(const Lab& lab, const GroupRow& row);
double mj_per_slot(const Lab& lab, const GroupRow& row);

// The quantity that a ratio compares.
enum class What : uint8_t { latency, energy, cpu_time, communication };
double value_of(const ExpertTimes& times, What what);
// The baseline's value divided by ours.
double gain(Lab& lab, const Setting& setting, ExpertEngine baseline, What what);
// The smallest and the largest gain over several settings and baselines.
std::pair<double, double> gains(Lab& lab, const std::vector<Setting>& settings,
                                const std::vector<ExpertEngine>& baselines, What what);

// The gain including decode, which adds the same to every engine; `share` of the CPU engine's whole run is
// prefill (NF1).
double gain_end_to_end(Lab& lab, const Setting& setting, ExpertEngine baseline, What what, double share);

double ffn_ms_of_a_layer(Lab& lab, ExpertEngine engine);         // Table 4: P 1024, C 256
double host_ms_of_a_layer(const Lab& lab);                       // the same setting: router, gather, scatter, residual
double expert_share(Lab& lab);                                   // of our engine, NF15
double millijoules_per_token(Lab& lab, const Setting& setting);  // of our engine, whole model
double overlap_of(Lab& lab, int64_t K);                          // N1, on unseen chunks
RoomUse room_of(Lab& lab);                                       // the paper's rooms, on unseen chunks

inline const Setting kTable4{kPhi, 1024, 256};

}  // namespace tandem::paper_npumoe
