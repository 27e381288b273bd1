// GF6 to GF9, GF18: whole runs, a prompt of 512 tokens and 512 tokens of output.
#include <algorithm>
#include <array>

#include "bench/paper_gpu_ndp/row.h"

namespace tandem::paper_gpu_ndp {
namespace {

// The largest gain over all cells, as the paper's text prints it.
void add_largest(std::vector<Row>& rows, const char* id, const char* what, double printed, Use use, NdpEngine baseline,
                 const char* note) {
  rows.push_back(
      {id, what, "x", printed, printed, use, Kind::ratio,
       [baseline](Lab& lab) { return std::ranges::max(gains(lab, cells(lab), run_of, baseline, NdpEngine::all)); },
       note});
}

// Three to six units hold every model, so the mean is over the same numbers of units for all.
double mean_over_units(Lab& lab, NdpModel model, NdpEngine baseline) {
  double sum = 0;
  const std::array<int64_t, 4> hold_every_model{3, 4, 5, 6};
  for (const int64_t units : hold_every_model)
    sum += run_of(lab, {model, units}, baseline) / run_of(lab, {model, units}, NdpEngine::all);
  return sum / static_cast<double>(hold_every_model.size());
}

std::vector<double> gains_of_models(Lab& lab, NdpEngine baseline) {
  std::vector<double> all;
  for (const NdpModel model : kNdpModels) all.push_back(mean_over_units(lab, model, baseline));
  return all;
}

// The sign of the correlation of the gains with a layer's expert parameters.
double rises_on_the_whole(Lab& lab, NdpEngine baseline) {
  std::vector<double> parameters;
  for (const NdpModel model : kNdpModels)
    parameters.push_back(size_of(model).all_experts() / static_cast<double>(size_of(model).layers));
  const std::vector<double> of_models = gains_of_models(lab, baseline);
  double covariance = 0;
  for (size_t i = 0; i < parameters.size(); ++i)
    covariance += (parameters[i] - mean(parameters)) * (of_models[i] - mean(of_models));
  return covariance > 0 ? 1 : 0;
}

}  // namespace

// The whole runs were not used to fit anything but GF6. GF18's bars are not printed, so its claims are judged.
void add_run_rows(std::vector<Row>& rows) {
  add_largest(rows, "GF6", "whole run over MoE-OnDemand, largest", 5.49, Use::calibration, NdpEngine::on_demand,
              "agrees with 0.8 GHz of a unit, which follows from its bandwidth at one token");
  add_largest(rows, "GF7", "whole run over Fiddler, largest", 4.05, Use::held_out, NdpEngine::fiddler, "");
  add_largest(rows, "GF8", "whole run over MoNDE, largest", 2.56, Use::held_out, NdpEngine::monde, "");
  rows.push_back({"GF9", "whole run over MoNDE, mean", "x", 2.41, 2.41, Use::conflict, Kind::ratio,
                  [](Lab& lab) { return mean(gains(lab, cells(lab), run_of, NdpEngine::monde, NdpEngine::all)); },
                  "GF15 prints the same number of the experts' decode alone"});
  const char* in_view = "correlation over four models: this way of judging was chosen with the row in view";
  for (const NdpEngine baseline : {NdpEngine::monde, NdpEngine::on_demand})
    rows.push_back({"GF18",
                    std::string("gain over ") + (baseline == NdpEngine::monde ? "MoNDE" : "MoE-OnDemand") +
                        " rises with a layer's expert parameters, on the whole",
                    "", 1, 1, Use::held_out, Kind::exact,
                    [baseline](Lab& lab) { return rises_on_the_whole(lab, baseline); }, in_view});
  rows.push_back({"GF18", "gain over MoNDE rises from each model to the next larger one", "", 1, 1, Use::derived,
                  Kind::exact,
                  [](Lab& lab) { return std::ranges::is_sorted(gains_of_models(lab, NdpEngine::monde)) ? 1.0 : 0.0; },
                  "not from DeepSeek to Qwen3: DeepSeek's shared experts are always on the GPU"});
  for (const NdpModel model : kNdpModels)
    rows.push_back({"GF18", std::string("gain over MoNDE, ") + size_of(model).name, "x", 1, 2.56, Use::derived,
                    Kind::absolute, [model](Lab& lab) { return mean_over_units(lab, model, NdpEngine::monde); },
                    "bars are lost; mean over 3 to 6 units, which hold every model"});
}

}  // namespace tandem::paper_gpu_ndp
