// HF47 to HF55: beside a game, power and energy (H14), accuracy. Llama-8B, prefill of 256 tokens.
#include "bench/paper_heterollm/quantities.h"
#include "bench/paper_heterollm/row.h"

namespace tandem::paper_heterollm {
namespace {

// The watts of Hetero-layer and Hetero-tensor differ by 0.52, those of PPL and Hetero-layer by 2.1. The solver's plan
// keeps the GPU busy all the time; if that were so on the phone, Hetero-tensor would draw about as much as PPL.
constexpr const char* kBusyGpu =
    "the solver's plan keeps the GPU busy nearly all the time; the printed watts and slowdown leave room for a third "
    "at most";

Setting at_256(const char* plan) { return prefill(kL8, 256, plan); }

double slowdown(Lab& lab, const char* plan) { return speed_up(lab, beside_game(at_256(plan)), at_256(plan)); }
double frame_rate(Lab& lab, const char* plan) {
  const ModelRun& run = lab.run(beside_game(at_256(plan)));
  const double share = run.frames == 0 ? 0 : static_cast<double>(run.frames_in_time) / static_cast<double>(run.frames);
  return share / lab.profile().load.period_seconds;
}
double watts(Lab& lab, const char* plan) { return lab.run(at_256(plan)).watts(); }
double joules(Lab& lab, const char* plan) { return lab.run(at_256(plan)).joules; }

}  // namespace

// The game's share and the three powers are fitted to this model. Slowdowns, frames and energies follow from them and
// are judged, except where two printed numbers contradict each other.
void add_phone_rows(std::vector<Row>& rows) {
  rows.push_back({"HF47", "Hetero-layer beside a game, over alone", "x", 0.9043, 0.9043, Use::calibration, Kind::ratio,
                  [](Lab& lab) { return slowdown(lab, kLayer); }, "fixes the game's share of the GPU"});
  rows.push_back({"HF47", "Hetero-tensor beside a game, over alone", "x", 0.9274, 0.9274, Use::held_out, Kind::ratio,
                  [](Lab& lab) { return slowdown(lab, kTensor); }, kBusyGpu});
  rows.push_back({"HF48", "Hetero-tensor beside a game over Hetero-layer alone", "x", 1.153, 1.153, Use::held_out,
                  Kind::ratio, [](Lab& lab) { return speed_up(lab, beside_game(at_256(kTensor)), at_256(kLayer)); },
                  kBusyGpu});
  for (const auto& [plan, printed] : {std::pair{kLayer, 60.0}, {kTensor, 60.0}, {kPpl, 0.0}}) {
    rows.push_back({"HF49", std::string("the game's frames a second beside `") + plan + "`", "1/s", printed, printed,
                    Use::held_out, Kind::absolute, [plan = plan](Lab& lab) { return frame_rate(lab, plan); }, ""});
  }
  rows.push_back({"HF50", "power of Hetero-layer", "W", kLayerWatts, kLayerWatts, Use::calibration, Kind::absolute,
                  [](Lab& lab) { return watts(lab, kLayer); }, "fixes powers"});
  rows.push_back({"HF51", "power of Hetero-tensor over Hetero-layer", "x", 1.232, 1.232, Use::calibration, Kind::ratio,
                  [](Lab& lab) { return watts(lab, kTensor) / watts(lab, kLayer); }, "fixes powers"});
  rows.push_back({"HF51", "power of Hetero-tensor over PPL", "x", 0.633, 0.633, Use::calibration, Kind::ratio,
                  [](Lab& lab) { return watts(lab, kTensor) / watts(lab, kPpl); }, "fixes powers"});
  rows.push_back({"HF52", "Hetero-tensor over Hetero-layer", "x", 1.244, 1.244, Use::held_out, Kind::ratio,
                  [](Lab& lab) { return speed_up(lab, at_256(kTensor), at_256(kLayer)); },
                  "Hetero-layer was fitted to HF42 / HF52; this is what that leaves to test"});
  rows.push_back({"HF52", "Hetero-tensor over PPL", "x", 3.72, 3.72, Use::shared, Kind::ratio,
                  [](Lab& lab) { return speed_up(lab, at_256(kTensor), at_256(kPpl)); },
                  "printed as 2.72 faster; HF54 says 3.72, which is HF17 x HF52"});
  rows.push_back({"HF53", "energy of Hetero-tensor over Hetero-layer", "x", 1.033, 1.033, Use::conflict, Kind::ratio,
                  [](Lab& lab) { return joules(lab, kTensor) / joules(lab, kLayer); }, "HF51 and HF52 give 0.990"});
  rows.push_back({"HF54", "energy of PPL over Hetero-tensor", "x", 5.87, 5.87, Use::held_out, Kind::ratio,
                  [](Lab& lab) { return joules(lab, kPpl) / joules(lab, kTensor); },
                  std::string("follows from HF51 and HF52; ") + kBusyGpu});
  rows.push_back({"HF55",
                  "accuracy as of the original model",
                  "",
                  0,
                  0,
                  Use::unpredicted,
                  Kind::ratio,
                  {},
                  "tested on real kernels, not on the clock"});
}

}  // namespace tandem::paper_heterollm
