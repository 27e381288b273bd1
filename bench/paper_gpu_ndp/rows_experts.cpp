// GF4, GF5, GF10 to GF17, GF19: the experts' time over MoNDE's.
#include <algorithm>
#include <functional>

#include "bench/paper_gpu_ndp/row.h"

namespace tandem::paper_gpu_ndp {
namespace {

// The cells of one model, in the order of their units.
std::vector<Cell> cells_of(const Lab& lab, NdpModel model) {
  std::vector<Cell> of_model = cells(lab);
  std::erase_if(of_model, [model](const Cell& cell) { return cell.model != model; });
  return of_model;
}

double mean_of_qwen3(Lab& lab, Seconds seconds, NdpEngine engine) {
  return mean(gains(lab, cells_of(lab, NdpModel::qwen3), seconds, NdpEngine::monde, engine));
}

// GF10 to GF15 are means over all cells that hold their model.
void add_mean(std::vector<Row>& rows, const char* id, const char* what, double printed, Use use, Seconds seconds,
              NdpEngine engine, const char* note) {
  rows.push_back({id, what, "x", printed, printed, use, Kind::ratio,
                  [=](Lab& lab) { return mean(gains(lab, cells(lab), seconds, NdpEngine::monde, engine)); }, note});
}

// GF16 prints no number, so the row is the claim itself: 1 if it holds.
void add_two_units(std::vector<Row>& rows, NdpModel model) {
  rows.push_back(
      {"GF16", std::string("2 units, NDP+TP is slower than MoNDE, ") + size_of(model).name, "", 1, 1, Use::held_out,
       Kind::exact,
       [model](Lab& lab) {
         return token_of(lab, {model, 2}, NdpEngine::tp) > token_of(lab, {model, 2}, NdpEngine::monde) ? 1.0 : 0.0;
       },
       ""});
}

// Whether each further unit lowers the gain over NDP+TP, in every model.
double gains_shrink(Lab& lab, NdpEngine engine) {
  for (const NdpModel model : kNdpModels) {
    const std::vector<double> of_units = gains(lab, cells_of(lab, model), token_of, NdpEngine::tp, engine);
    if (!std::ranges::is_sorted(of_units, std::ranges::greater{})) return 0;
  }
  return 1;
}

void add_shrinking(std::vector<Row>& rows, const char* what, NdpEngine engine) {
  rows.push_back({"GF17", what, "", 1, 1, Use::held_out, Kind::exact,
                  [engine](Lab& lab) { return gains_shrink(lab, engine); }, "in every model, from unit to unit"});
}

}  // namespace

// GF10, GF11 and GF15 chose a reading of an equation or fix a constant, so they are calibration. All others of the mean
// gains are held out.
void add_expert_rows(std::vector<Row>& rows) {
  rows.push_back({"GF4", "prefill over MoNDE, Qwen3, mean over units", "x", 1.36, 1.36, Use::held_out, Kind::ratio,
                  [](Lab& lab) { return mean_of_qwen3(lab, prompt_of, NdpEngine::tp_lb); }, ""});
  rows.push_back({"GF5", "decode over MoNDE, Qwen3, mean over units", "x", 1.69, 1.69, Use::held_out, Kind::ratio,
                  [](Lab& lab) { return mean_of_qwen3(lab, token_of, NdpEngine::all); }, ""});
  add_mean(rows, "GF10", "prefill, NDP+TP over MoNDE, mean", 1.26, Use::calibration, prompt_of, NdpEngine::tp,
           "chose MoNDE's prompts without a share of the GPU");
  add_mean(rows, "GF11", "prefill, NDP+TP+LB over MoNDE, mean", 1.46, Use::calibration, prompt_of, NdpEngine::tp_lb,
           "chose Eq. 2 as a share without S - 1");
  add_mean(rows, "GF11", "prefill, balanced by the tokens of each expert, mean", 1.46, Use::derived, prompt_of,
           NdpEngine::by_counts,
           "the other reading of Eq. 2, the engine's default: nearly everything moves to the GPU");
  add_mean(rows, "GF12", "decode, NDP+TP over MoNDE, mean", 1.99, Use::held_out, token_of, NdpEngine::tp, "");
  add_mean(rows, "GF13", "decode, NDP+TP+LB over MoNDE, mean", 2.19, Use::held_out, token_of, NdpEngine::tp_lb, "");
  add_mean(rows, "GF14", "decode, NDP+TP+PRE over MoNDE, mean", 2.23, Use::shared, token_of, NdpEngine::tp_pre,
           "follows from GF15 to a large part");
  add_mean(rows, "GF15", "decode, NDP+TP+LB+PRE over MoNDE, mean", 2.41, Use::calibration, token_of, NdpEngine::all,
           "fixes the skew of the routing, through hits");
  add_two_units(rows, NdpModel::deepseek);
  add_two_units(rows, NdpModel::qwen3);
  add_shrinking(rows, "the gain of LB over NDP+TP shrinks with units", NdpEngine::tp_lb);
  add_shrinking(rows, "the gain of PRE over NDP+TP shrinks with units", NdpEngine::tp_pre);
  rows.push_back({"GF19", "Qwen3 gains more in decode than in prefill", "", 1, 1, Use::held_out, Kind::exact,
                  [](Lab& lab) {
                    return mean_of_qwen3(lab, token_of, NdpEngine::all) >
                                   mean_of_qwen3(lab, prompt_of, NdpEngine::tp_lb)
                               ? 1.0
                               : 0.0;
                  },
                  ""});
}

}  // namespace tandem::paper_gpu_ndp
