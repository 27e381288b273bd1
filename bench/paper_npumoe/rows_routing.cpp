// NF31 to NF37: dropped choices and padding.
#include "bench/paper_npumoe/row.h"

namespace tandem::paper_npumoe {
namespace {

// The share of padded rows for a share of dropped choices; the rooms give the number of rows for each choice.
double padded_given(Lab& lab, double dropped) { return 1 - (1 - dropped) / room_of(lab).slots_per_choice; }

// A text of Table 3: shares of dropped choices and padded rows, and the accuracies.
struct Text {
  const char *id, *name;
  double dropped, padded, f16, ours;
};

// The experts' time in graphs, divided by the time without padded rows. Both include launches and weights.
double padding_time(Lab& lab) {
  const ExpertTimes& times = lab.prefill(kTable4, ExpertEngine::ours);
  const MixtureShape& shape = lab.routing(kPhi).shape;
  const double padded = room_of(lab).padded * static_cast<double>(times.slots);
  return times.expert_seconds / (times.expert_seconds - padded * shape.expert.row_flops() / lab.chip().flops);
}

}  // namespace

// Table 3, text by text. One number fixes the drawn routing and one chose the tiers, and the padding of the other texts
// follows from their drops.
void add_routing_rows(std::vector<Row>& rows) {
  const Text boolq{"NF31", "BoolQ", 0.1466, 0.3173, 0.86, 0.86};
  for (const Text& text : {boolq, Text{"NF32", "HellaSwag", 0.1063, 0.3477, 0.8857, 0.8762},
                           Text{"NF33", "RULER niah_single_2", 0.2177, 0.3749, 0.955, 0.95},
                           Text{"NF34", "RULER niah_multikey_1", 0.21, 0.37, 0.96, 0.96}}) {
    const std::string name = text.name;
    const bool fitted = text.id == std::string("NF31"), other_tiers = text.id == std::string("NF32");
    const Use dropped = fitted ? Use::calibration : Use::unpredicted;
    rows.push_back(
        {text.id, "dropped choices, " + name, "", text.dropped, text.dropped, dropped, Kind::absolute,
         fitted ? [](Lab& lab) { return room_of(lab).dropped; } : std::function<double(Lab&)>{},
         fitted ? "fixes the routing's sigmas together with NF53" : "each data set has a routing of its own"});
    const Use padded = fitted ? Use::shared : other_tiers ? Use::unpredicted : Use::held_out;
    rows.push_back({text.id, "padded rows given what is dropped, " + name, "", text.padded, text.padded, padded,
                    Kind::absolute, [drop = text.dropped](Lab& lab) { return padded_given(lab, drop); },
                    fitted        ? "the tiers were read from it: 1.25 rows for a choice"
                    : other_tiers ? "needs 1.37 rows for a choice, so other tiers than the other three"
                                  : ""});
    rows.push_back(Row::not_predicted(text.id, "accuracy, " + name, "", std::min(text.f16, text.ours),
                                      std::max(text.f16, text.ours), "a clock knows no accuracy"));
  }
  rows.push_back(Row::not_predicted("NF35", "accuracy lost, all data sets", "", 0, 0.011,
                                    "arithmetic on Table 3; the prose has 96 % for both RULER sets, the table 95.5 %"));
  rows.push_back({"NF36", "padded rows, mean", "", 0.3535, 0.3535, Use::derived, Kind::absolute,
                  [](Lab& lab) { return room_of(lab).padded; }, "about the mean of Table 3"});
  rows.push_back({"NF37", "cost of padding, CPU cycles", "x", 1.25, 1.36, Use::held_out, Kind::ratio,
                  [](Lab& lab) { return room_of(lab).slots_per_choice; }, "read as rows for each choice"});
  rows.push_back({"NF37", "cost of padding, run time", "x", 1.27, 1.29, Use::held_out, Kind::ratio, padding_time, ""});
}

}  // namespace tandem::paper_npumoe
