// The rows of the HybriMoE paper on a model of its machine.
//
// Contract: bench/paper/row.h. A row of several numbers becomes several rows with one id.
#pragma once

#include <string>
#include <vector>

#include "bench/paper/row.h"
#include "bench/paper_hybrimoe/lab.h"

namespace tandem::paper_hybrimoe {

using paper::Kind;
using paper::Result;
using paper::Use;
using Row = paper::RowFor<Lab>;

inline constexpr paper::Bars kBars{0.15, 0.15, true};

// In the paper's order. has_trace: whether the lab has recorded routing. Without it the trace's rows predict nothing.
std::vector<Row> all_rows(bool has_trace);
void add_speed_rows(std::vector<Row>& rows);                  // YF1, YF2, YF18 to YF20
void add_table3_rows(std::vector<Row>& rows);                 // YF3 to YF11
void add_cache_rows(std::vector<Row>& rows, bool has_trace);  // YF12 to YF17
void add_rule_rows(std::vector<Row>& rows);                   // YF21 to YF30

}  // namespace tandem::paper_hybrimoe
