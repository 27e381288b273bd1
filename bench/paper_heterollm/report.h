// The heading of the report of the HeteroLLM rows (bench/paper/report.h).
#pragma once

#include "bench/paper/report.h"
#include "engine/plan/model_clock/soc_profile.h"

namespace tandem::paper_heterollm {

inline paper::Heading heading(const SocProfile& profile) {
  return {"HeteroLLM",
          "paper-heterollm",
          profile.name,
          "ratios 10 %, absolute values 15 %",
          "absolute values alone pass there",
          "inputs, other engines (one rate each), numbers that contradict others, rows that could not miss, what the "
          "clock does not model"};
}

}  // namespace tandem::paper_heterollm
