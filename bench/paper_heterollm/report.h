// The results as a table, as JSON and as a page.
//
// Contract: pure text. Held-out rows and all others are never in one table: judged rows come first, then calibration
// rows with their residuals, then what is not judged, with the reason.
#pragma once

#include <string>
#include <vector>

#include "bench/paper_heterollm/calibrate.h"
#include "bench/paper_heterollm/row.h"

namespace tandem::paper_heterollm {

inline constexpr int kReportSchema = 1;

std::string text_report(const std::vector<Result>& results, const SocProfile& profile);
std::string json_report(const std::vector<Result>& results, const SocProfile& profile);
std::string html_report(const std::vector<Result>& results, const SocProfile& profile);  // self-contained
std::string text_of(const Calibration& calibration);

// For a table: "0.633", "1092", "0.5 .. 1.5", "-" where nothing is printed.
std::string printed_text(const Row& row);
std::string value_text(double value);

}  // namespace tandem::paper_heterollm
