// The results of a paper's rows as a table, as JSON and as an HTML page.
//
// Contract: pure text, except that publish() and write_report() write. Held-out rows never share a table with others.
// Judged rows come first, then calibration rows with their residuals. Rows that are not judged come last, with the
// reason why.
#pragma once

#include <string>
#include <vector>

#include "bench/paper/options.h"
#include "bench/paper/row.h"

namespace tandem::paper {

inline constexpr int kReportSchema = 1;

// The texts with which a report describes itself.
struct Heading {
  std::string paper;       // "HeteroLLM"
  std::string bench;       // "paper-heterollm"
  std::string profile;     // the profile's name
  std::string bars;        // "ratios 10 %, absolute values 15 %"
  std::string between;     // the meaning of a row between 10 and 15 %: "absolute values alone pass there"
  std::string not_judged;  // the rows that are not judged: "inputs, other engines (one rate each), ..."
};

std::string text_report(const std::vector<Result>& results, const Heading& heading);
std::string json_report(const std::vector<Result>& results, const Heading& heading);
std::string html_report(const std::vector<Result>& results, const Heading& heading);  // self-contained

// A fitted constant, the number that it was fitted to, and the modelled value that remains.
struct Residual {
  std::string key, from;
  double value = 0, printed = 0, modelled = 0;
  double error() const { return modelled / printed - 1; }
};
std::string text_of(const std::vector<Residual>& residuals);

// Error if the file cannot be written; does nothing without a path.
void write_report(const std::string& path, const std::string& text);
// Prints the table to stdout, and writes the other forms that the options ask for.
void publish(const std::vector<Result>& results, const Heading& heading, const Options& options);

// Texts for a table: "0.633", "1092", "0.5 .. 1.5"; "-" if no number is printed.
std::string printed_text(const Printed& row);
std::string value_text(double value);
std::string percent_text(double fraction);  // "+4.1 %"

double rounded(double value, int digits);  // to so many significant digits
// x in [least, most] with f(x) nearest to `target`, for a monotone f: bisection on a logarithmic scale.
double bisect(const std::function<double(double)>& f, double least, double most, double target);

}  // namespace tandem::paper
