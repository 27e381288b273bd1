// GF6 to GF9, GF18: whole runs, a prompt of 512 tokens and 512 tokens of output.
#include <algorithm>
#include <array>

#include "bench/paper_gpu_ndp/row.h"

namespace tandem::paper_gpu_ndp {
namespace {

void add_largest(std::vector<Row>& rows, const char* id, const char* what, double printed, Use use, NdpEngine baseline,
                 const char* note) {
  rows.push_back(
      {id, what, "x", printed, printed, use, Kind::ratio,
       [baseline](Lab& lab) { return std::ranges::max(gains(lab, cells(lab), run_of, baseline, NdpEngine::all)); },
       note});
}

double mean_over_units(Lab& lab, NdpModel model) {
  double sum = 0;
  const std::array<int64_t, 4> hold_every_model{3, 4, 5, 6};
  for (const int64_t units : hold_every_model)
    sum += run_of(lab, {model, units}, NdpEngine::on_demand) / run_of(lab, {model, units}, NdpEngine::all);
  return sum / static_cast<double>(hold_every_model.size());
}

double rises_with_parameters(Lab& lab) {
  std::vector<double> gains_of_models;
  for (const NdpModel model : kNdpModels) gains_of_models.push_back(mean_over_units(lab, model));
  return std::ranges::is_sorted(gains_of_models) ? 1 : 0;
}

}  // namespace

void add_run_rows(std::vector<Row>& rows) {
  add_largest(rows, "GF6", "whole run over MoE-OnDemand, largest", 5.49, Use::calibration, NdpEngine::on_demand,
              "agrees with 0.8 GHz of a unit, which follows from its bandwidth at one token");
  add_largest(rows, "GF7", "whole run over Fiddler, largest", 4.05, Use::held_out, NdpEngine::fiddler, "");
  add_largest(rows, "GF8", "whole run over MoNDE, largest", 2.56, Use::held_out, NdpEngine::monde, "");
  rows.push_back({"GF9", "whole run over MoNDE, mean", "x", 2.41, 2.41, Use::conflict, Kind::ratio,
                  [](Lab& lab) { return mean(gains(lab, cells(lab), run_of, NdpEngine::monde, NdpEngine::all)); },
                  "GF15 prints the same number of the experts' decode alone"});
  rows.push_back({"GF18", "gain over MoE-OnDemand rises with the experts' parameters", "", 1, 1, Use::held_out,
                  Kind::exact, rises_with_parameters, "mean over 3 to 6 units, which hold every model"});
  for (const NdpModel model : kNdpModels)
    rows.push_back({"GF18", std::string("gain over MoE-OnDemand, ") + size_of(model).name, "x", 1, 5.49, Use::derived,
                    Kind::absolute, [model](Lab& lab) { return mean_over_units(lab, model); }, "bars are lost"});
}

}  // namespace tandem::paper_gpu_ndp
