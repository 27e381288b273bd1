// The rows of the GPU-NDP paper on a model of its machine.
//
// Contract: bench/paper/row.h. A row of several numbers becomes several rows with one id.
#pragma once

#include <string>
#include <vector>

#include "bench/paper/row.h"
#include "bench/paper_gpu_ndp/lab.h"

namespace tandem::paper_gpu_ndp {

using paper::Kind;
using paper::Result;
using paper::Use;
using Row = paper::RowFor<Lab>;

inline constexpr paper::Bars kBars{0.15, 0.15, true};

std::vector<Row> all_rows();                        // in the paper's order
void add_size_rows(std::vector<Row>& rows);         // GF1 to GF3, GF20, GF21, GF24 to GF26
void add_expert_rows(std::vector<Row>& rows);       // GF4, GF5, GF10 to GF17, GF19
void add_run_rows(std::vector<Row>& rows);          // GF6 to GF9, GF18
void add_unpredicted_rows(std::vector<Row>& rows);  // GF22, GF23

// The cells of models and units that hold the experts.
struct Cell {
  NdpModel model;
  int64_t units;
};
std::vector<Cell> cells(const Lab& lab);

// The seconds of `baseline` over those of `engine`, for each cell.
using Seconds = double (*)(Lab&, const Cell&, NdpEngine);
double prompt_of(Lab& lab, const Cell& cell, NdpEngine engine);
double token_of(Lab& lab, const Cell& cell, NdpEngine engine);
double run_of(Lab& lab, const Cell& cell, NdpEngine engine);
std::vector<double> gains(Lab& lab, const std::vector<Cell>& over, Seconds seconds, NdpEngine baseline,
                          NdpEngine engine);
double mean(const std::vector<double>& values);

}  // namespace tandem::paper_gpu_ndp
