// The rows of the HeteroLLM paper on the model clock.
//
// Contract: bench/paper/row.h. Some numbers to fit were computed from two printed ones (Hetero-layer's speed = HF42 /
//   HF52). One of the two stays held out and the other is `shared`, so that the two together test one thing.
#pragma once

#include <vector>

#include "bench/paper/row.h"
#include "bench/paper_heterollm/lab.h"

namespace tandem::paper_heterollm {

using paper::Kind;
using paper::Result;
using paper::Summary;
using paper::Use;
using paper::Verdict;
using Row = paper::RowFor<Lab>;

// Every row of the paper, in its order. A row of several numbers becomes several rows with one id.
std::vector<Row> all_rows();
void add_processor_rows(std::vector<Row>& rows);  // HF1 to HF13
void add_plan_rows(std::vector<Row>& rows);       // HF14 to HF16
void add_prefill_rows(std::vector<Row>& rows);    // HF17 to HF35
void add_decode_rows(std::vector<Row>& rows);     // HF36 to HF40
void add_sync_rows(std::vector<Row>& rows);       // HF41 to HF46
void add_phone_rows(std::vector<Row>& rows);      // HF47 to HF55: game, power, accuracy

}  // namespace tandem::paper_heterollm
