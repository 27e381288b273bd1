// YF1, YF2, YF18 to YF20: averages over all cells, and the order of the engines.
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "bench/paper_hybrimoe/row.h"

namespace tandem::paper_hybrimoe {
namespace {

struct Cell {
  Mixture model;
  int percent;
  int64_t tokens;  // 1: text
};

// The cells of Fig. 7 and 8. Text has no length, so each model and cache is one cell.
std::vector<Cell> cells(bool text) {
  std::vector<Cell> all;
  for (const Mixture model : kMixtures)
    for (const int percent : kCachePercents)
      for (const int64_t tokens : kPrompts)
        if (!text || tokens == kPrompts.front()) all.push_back({model, percent, text ? 1 : tokens});
  return all;
}

double ms_of(Lab& lab, const Cell& cell, EngineKind engine) {
  return lab.prompt_ms(cell.model, cell.percent, cell.tokens, engine);
}

// The mean gain over kTransformers. The paper does not say which mean, so the geometric one stands beside it.
double mean_gain(Lab& lab, bool text, EngineKind engine, bool geometric) {
  double sum = 0;
  const std::vector<Cell> all = cells(text);
  for (const Cell& cell : all) {
    const double gain = ms_of(lab, cell, EngineKind::kt) / ms_of(lab, cell, engine);
    sum += geometric ? std::log(gain) : gain;
  }
  sum /= static_cast<double>(all.size());
  return geometric ? std::exp(sum) : sum;
}

// Cells in which every other engine is at least (or at most) as slow.
double cells_at_the_end(Lab& lab, bool text, EngineKind engine, bool fastest) {
  double count = 0;
  for (const Cell& cell : cells(text)) {
    const double own = ms_of(lab, cell, engine);
    count += std::ranges::all_of(kEngines, [&](EngineKind other) {
      const double ms = ms_of(lab, cell, other);
      return fastest ? own <= ms : own >= ms;
    });
  }
  return count;
}

// The mean by the default schedule is judged. The two others show what another reading would give.
void add_mean(std::vector<Row>& rows, const char* id, bool text, double printed) {
  const std::string what = text ? "decode over kTransformers, 9 cells" : "prefill over kTransformers, 36 cells";
  rows.push_back(
      {id, what + ", mean", "x", printed, printed, Use::held_out, Kind::ratio,
       [text](Lab& lab) { return mean_gain(lab, text, EngineKind::hybrimoe, false); },
       text ? "by the default schedule; DeepSeek gains 1.1 to 1.3 here: launches bind its small experts" : ""});
  rows.push_back({id, what + ", geometric mean", "x", printed, printed, Use::derived, Kind::ratio,
                  [text](Lab& lab) { return mean_gain(lab, text, EngineKind::hybrimoe, true); },
                  "the paper does not say which mean"});
  rows.push_back({id, what + ", mean, by greedy alone", "x", printed, printed, Use::derived, Kind::ratio,
                  [text](Lab& lab) { return mean_gain(lab, text, EngineKind::greedy, false); },
                  "greedy gives the processor experts of many tokens, so it loses to kTransformers in some cells"});
}

// The mean ratio of llama.cpp's time to kTransformers'.
double llama_cpp_beside_kt(Lab& lab, bool text) {
  double sum = 0;
  for (const Cell& cell : cells(text))
    sum += ms_of(lab, cell, EngineKind::llama_cpp) / ms_of(lab, cell, EngineKind::kt);
  return sum / static_cast<double>(cells(text).size());
}

// Fig. 3(d), at 25 %: the fastest of three engines in each of its settings.
double different_winners(Lab& lab) {
  std::set<EngineKind> winners;
  for (const Cell& cell : {Cell{Mixture::qwen2, 25, 128}, {Mixture::mixtral, 25, 128}, {Mixture::mixtral, 25, 1}})
    winners.insert(std::ranges::min({EngineKind::llama_cpp, EngineKind::adapmoe, EngineKind::kt}, {},
                                    [&](EngineKind engine) { return ms_of(lab, cell, engine); }));
  return static_cast<double>(winners.size());
}

}  // namespace

void add_speed_rows(std::vector<Row>& rows) {
  add_mean(rows, "YF1", false, 1.33);
  add_mean(rows, "YF2", true, 1.70);
  const auto order = [&](const char* id, const char* what, double count, const std::function<double(Lab&)>& modelled) {
    rows.push_back({id, what, "cells", count, count, Use::held_out, Kind::exact, modelled, ""});
  };
  order("YF18", "prefill, HybriMoE is fastest, of 36 cells", 36,
        [](Lab& lab) { return cells_at_the_end(lab, false, EngineKind::hybrimoe, true); });
  order("YF18", "prefill, llama.cpp is slowest, of 36 cells", 36,
        [](Lab& lab) { return cells_at_the_end(lab, false, EngineKind::llama_cpp, false); });
  order("YF19", "decode, HybriMoE is fastest, of 9 cells", 9,
        [](Lab& lab) { return cells_at_the_end(lab, true, EngineKind::hybrimoe, true); });
  rows.push_back(
      {"YF19", "llama.cpp is nearer to kTransformers in decode than in prefill", "", 1, 1, Use::held_out, Kind::exact,
       [](Lab& lab) { return llama_cpp_beside_kt(lab, true) < llama_cpp_beside_kt(lab, false) ? 1.0 : 0.0; }, ""});
  rows.push_back({"YF20", "different fastest engines in the three settings of Fig. 3(d), cache 25 %", "", 2, 3,
                  Use::held_out, Kind::bounds, different_winners, "the paper does not say how much is cached"});
}

}  // namespace tandem::paper_hybrimoe
