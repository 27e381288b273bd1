// GF1 to GF3, GF20, GF21, GF24 to GF26: sizes, what fits, and worked examples.
#include <algorithm>
#include <cmath>
#include <functional>

#include "bench/paper_gpu_ndp/row.h"

namespace tandem::paper_gpu_ndp {
namespace {

constexpr double kMiB = 1 << 20, kGi = 1 << 30;

double rounded(double value, double digits) { return std::round(value * digits) / digits; }

// These rows are arithmetic and must be met exactly.
void add_exact(std::vector<Row>& rows, const char* id, const std::string& what, const char* unit, double printed,
               const std::function<double(Lab&)>& modelled, const char* note = "") {
  rows.push_back({id, what, unit, printed, printed, Use::held_out, Kind::exact, modelled, note});
}

double total_bytes(NdpModel model) { return 2 * size_of(model).all_experts() + size_of(model).other_bytes; }

// Table II: Mixtral's billions are 2^30, the others' 10^9.
void add_parameters(std::vector<Row>& rows, NdpModel model, double printed) {
  const bool binary = model == NdpModel::mixtral;
  add_exact(
      rows, "GF24", std::string("expert parameters, ") + size_of(model).name, "B", printed,
      [model, binary](Lab&) { return rounded(size_of(model).all_experts() / (binary ? kGi : 1e9), 10); },
      binary ? "in units of 2^30" : "in units of 10^9");
}

double extreme(int64_t NdpModelSize::*field, bool largest) {
  std::vector<int64_t> all;
  for (const NdpModel model : kNdpModels) all.push_back(size_of(model).*field);
  return static_cast<double>(largest ? std::ranges::max(all) : std::ranges::min(all));
}

}  // namespace

// Sizes of models, what fits where, and the paper's worked examples. None of these depends on a fitted constant, so
// they tell first whether the model has the paper's shapes.
void add_size_rows(std::vector<Row>& rows) {
  const NdpModelSize& mixtral = size_of(NdpModel::mixtral);
  add_exact(rows, "GF1", "Qwen3-30B-A3B takes more than 60 GB", "", 1,
            [](Lab&) { return total_bytes(NdpModel::qwen3) > 60e9 ? 1.0 : 0.0; });
  add_exact(rows, "GF1", "Qwen3-30B-A3B fits into the GPU", "", 0,
            [](Lab& lab) { return total_bytes(NdpModel::qwen3) <= lab.machine().gpu_bytes ? 1.0 : 0.0; });
  add_exact(rows, "GF2", "expert weights that a token of Mixtral reads in a layer", "MiB", 672,
            [&mixtral](Lab&) { return static_cast<double>(mixtral.used) * mixtral.expert_bytes() / kMiB; });
  add_exact(rows, "GF3", "activations of a token of Mixtral in a layer", "MiB", 0.0078,
            [&mixtral](Lab&) { return rounded(2 * mixtral.hidden / kMiB, 1e4); });
  for (const NdpModel model : kNdpModels) {
    const bool large = model == NdpModel::phi || model == NdpModel::mixtral;
    add_exact(
        rows, "GF20", std::string("numbers of units that do not hold ") + size_of(model).name, "of 5", large ? 1 : 0,
        [model](Lab& lab) {
          return static_cast<double>(
              std::ranges::count_if(kUnitCounts, [&](int64_t units) { return !lab.is_supported(model, units); }));
        },
        "the text names no cell; two units do not hold the two large models");
  }
  add_exact(rows, "GF21", "experts of a layer of Mixtral that the GPU has room for", "", 1,
            [](Lab& lab) { return static_cast<double>(fill_of(lab.machine(), NdpModel::mixtral)); });
  add_parameters(rows, NdpModel::deepseek, 15.4);
  add_parameters(rows, NdpModel::qwen3, 29.0);
  add_parameters(rows, NdpModel::phi, 40.3);
  add_parameters(rows, NdpModel::mixtral, 42.0);
  add_exact(rows, "GF25", "least TopK", "", 2, [](Lab&) { return extreme(&NdpModelSize::used, false); });
  add_exact(rows, "GF25", "largest TopK", "", 8, [](Lab&) { return extreme(&NdpModelSize::used, true); });
  add_exact(rows, "GF25", "least number of experts", "", 8,
            [](Lab&) { return extreme(&NdpModelSize::experts, false); });
  add_exact(rows, "GF25", "largest number of experts", "", 128,
            [](Lab&) { return extreme(&NdpModelSize::experts, true); });
  const char* worked = "a worked case of Fig. 3a";
  add_exact(
      rows, "GF26", "active experts on unit 0, of five with ids 0, 1, 2, 4, 6", "", 4,
      [](Lab&) {
        return static_cast<double>(cyclic_counts({0, 1, 2, 4, 6}, 2)[0]);
      },
      worked);
  add_exact(
      rows, "GF26", "active experts on unit 1", "", 1,
      [](Lab&) {
        return static_cast<double>(cyclic_counts({0, 1, 2, 4, 6}, 2)[1]);
      },
      worked);
  add_exact(
      rows, "GF26", "units that compute a part of one expert", "", 3,
      [&mixtral](Lab&) {
        return static_cast<double>(std::ranges::count_if(features_of_units(static_cast<int64_t>(mixtral.width), 3),
                                                         [](int64_t features) { return features > 0; }));
      },
      "Fig. 4");
}

// The paper names these results without a number that a model could be compared with.
void add_unpredicted_rows(std::vector<Row>& rows) {
  rows.push_back(Row::not_predicted("GF22", "use of prefetched weights, by prompt or by calibration", "", 0, 0,
                                    "bars are lost, and no routing of these texts is here"));
  rows.push_back(Row::not_predicted("GF23", "passes of calibration that are avoided", "", 0, 0,
                                    "hundreds to thousands; G4 takes none"));
}

}  // namespace tandem::paper_gpu_ndp
