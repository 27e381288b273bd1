#include "bench/paper_gpu_ndp/row.h"

#include <numeric>
#include <utility>

namespace tandem::paper_gpu_ndp {

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const auto add : {add_size_rows, add_expert_rows, add_run_rows, add_unpredicted_rows}) add(rows);
  return paper::in_papers_order(std::move(rows));
}

// A model that does not fit into so few units has no cell there, as in the paper's figures.
std::vector<Cell> cells(const Lab& lab) {
  std::vector<Cell> supported;
  for (const NdpModel model : kNdpModels)
    for (const int64_t units : kUnitCounts)
      if (lab.is_supported(model, units)) supported.push_back({model, units});
  return supported;
}

double prompt_of(Lab& lab, const Cell& cell, NdpEngine engine) {
  return lab.prompt_seconds(cell.model, cell.units, engine);
}

double token_of(Lab& lab, const Cell& cell, NdpEngine engine) {
  return lab.token_seconds(cell.model, cell.units, engine);
}

double run_of(Lab& lab, const Cell& cell, NdpEngine engine) { return lab.run_seconds(cell.model, cell.units, engine); }

// How many times faster an engine is than the baseline, for each cell of the table.
std::vector<double> gains(Lab& lab, const std::vector<Cell>& over, Seconds seconds, NdpEngine baseline,
                          NdpEngine engine) {
  std::vector<double> all;
  for (const Cell& cell : over) all.push_back(seconds(lab, cell, baseline) / seconds(lab, cell, engine));
  return all;
}

double mean(const std::vector<double>& values) {
  return std::reduce(values.begin(), values.end()) / static_cast<double>(values.size());
}

}  // namespace tandem::paper_gpu_ndp
