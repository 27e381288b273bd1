// The results of a paper's rows as a table, as JSON and as a page.
//
// Contract: pure text. Held-out rows and all others are never in one table: judged rows come first, then calibration
// rows with their residuals, then what is not judged, with the reason.
#pragma once

#include <string>
#include <vector>

#include "bench/paper/row.h"

namespace tandem::paper {

inline constexpr int kReportSchema = 1;

// What a report says of itself.
struct Heading {
  std::string paper;       // "HeteroLLM"
  std::string bench;       // "paper-heterollm"
  std::string profile;     // its name
  std::string bars;        // "ratios 10 %, absolute values 15 %"
  std::string between;     // what a row between 10 and 15 % means: "absolute values alone pass there"
  std::string not_judged;  // which rows are not: "inputs, other engines (one rate each), ..."
};

std::string text_report(const std::vector<Result>& results, const Heading& heading);
std::string json_report(const std::vector<Result>& results, const Heading& heading);
std::string html_report(const std::vector<Result>& results, const Heading& heading);  // self-contained

// A constant that was fitted, the number that it was fitted to, and what is left.
struct Residual {
  std::string key, from;
  double value = 0, printed = 0, modelled = 0;
  double error() const { return modelled / printed - 1; }
};
std::string text_of(const std::vector<Residual>& residuals);

// Error unless it could be written; nothing without a path.
void write_report(const std::string& path, const std::string& text);

// For a table: "0.633", "1092", "0.5 .. 1.5", "-" where nothing is printed.
std::string printed_text(const Printed& row);
std::string value_text(double value);
std::string percent_text(double fraction);  // "+4.1 %"

// x in [least, most] with f(x) nearest to `target`, for a monotone f: bisection on a logarithmic scale.
double bisect(const std::function<double(double)>& f, double least, double most, double target);

}  // namespace tandem::paper
