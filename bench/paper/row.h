// One printed number of a paper, the modelled value for the same setting, and the verdict.
//
// Contract: a row's use is fixed before anything is modelled. Calibration rows fix constants and are no evidence.
//   Held-out rows are judged, and nothing is fitted to their numbers. A paper's rows ask its `Lab` for modelled values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tandem::paper {

enum class Use : uint8_t {
  held_out,     // predicted, and judged
  calibration,  // fixes a constant
  shared,       // contributes to a number or a rule that was read from the paper: predicted, not judged
  input,        // stands in the profile as printed
  conflict,     // contradicts another printed number: predicted, not judged
  cannot_miss,  // held out, but computed so that only the printed value can result: predicted, not judged
  derived,      // arithmetic on other rows: predicted, not judged
  peer,         // another engine, of which the model knows one rate: predicted, not judged
  cited,        // from another paper
  unpredicted,  // no number is printed, or it is not modelled
};

enum class Kind : uint8_t {
  ratio,     // between two variants
  absolute,  // with a unit
  exact,     // a worked example of a plan
  bounds,    // a value, rounded to hundredths as printed, that must lie between the two printed ends
  quotient,  // of printed values, and printed itself: exact if it differs by at most 0.01
};

// The largest error with which a row meets its bar.
struct Bars {
  double ratio = 0.10, absolute = 0.15;
  bool grade_misses = false;  // whether a verdict says how far a miss is
};

struct Printed {
  std::string id;                            // "HF17"
  std::string what;                          // "Hetero-layer over PPL, Llama-8B, 256 tokens"
  std::string unit;                          // "x", "tok/s", ...
  double printed_low = 0, printed_high = 0;  // equal, except for ranges
  Use use = Use::held_out;
  Kind kind = Kind::ratio;
  std::string note;  // how it was read, why it misses, or its source
};

template <typename Lab>
struct RowFor {
  std::string id, what, unit;  // these and the next line have the meaning of the same members of `Printed`
  double printed_low = 0, printed_high = 0;
  Use use = Use::held_out;
  Kind kind = Kind::ratio;
  std::function<double(Lab&)> modelled;  // empty: nothing to predict
  std::string note;

  Printed printed() const { return {id, what, unit, printed_low, printed_high, use, kind, note}; }
  // A printed number that the model does not predict, with the reason.
  static RowFor not_predicted(const char* id, const std::string& what, const char* unit, double low, double high,
                              const char* why) {
    return {id, what, unit, low, high, Use::unpredicted, Kind::absolute, {}, why};
  }
};

enum class Verdict : uint8_t {
  exact,
  inside,  // the bounds
  within_10,
  within_15,
  within_25,   // a miss, if misses are graded
  right_side,  // also a miss: a ratio that is farther off, but on the printed side of 1
  miss,
  not_judged
};
const char* to_string(Verdict verdict);
const char* to_string(Use use);

struct Result {
  Printed row;
  std::optional<double> modelled;
  double error = 0;  // modelled / printed - 1; for a range from its nearer end, 0 inside
  Verdict verdict = Verdict::not_judged;
  bool met = false;  // meets the bar of its kind
};

// A printed 0 allows only 0: the error is then the modelled value.
double error_of(double modelled, double low, double high);
double error_of(const Printed& row, double modelled);  // the same with the tolerance of the row's kind
Verdict verdict_of(double error, Kind kind);
Verdict graded(Verdict verdict, const Printed& row, double modelled, double error);
bool meets_bar(Verdict verdict, Kind kind, const Bars& bars = {});
Result judged(Printed row, std::optional<double> modelled, const Bars& bars = {});

// 17 for "HF17".
int number_of(const std::string& id);
// Rows of one number stay in their order.
template <typename Lab>
std::vector<RowFor<Lab>> in_papers_order(std::vector<RowFor<Lab>> rows) {
  std::ranges::stable_sort(rows, {}, [](const RowFor<Lab>& row) { return number_of(row.id); });
  return rows;
}

template <typename Lab>
Result judge(const RowFor<Lab>& row, Lab& lab, const Bars& bars = {}) {
  return judged(row.printed(), row.modelled ? std::optional(row.modelled(lab)) : std::nullopt, bars);
}

template <typename Lab>
std::vector<Result> judge_all(const std::vector<RowFor<Lab>>& rows, Lab& lab, const Bars& bars = {}) {
  std::vector<Result> results;
  for (const RowFor<Lab>& row : rows) results.push_back(judge(row, lab, bars));
  return results;
}

struct Summary {
  int judged = 0, met = 0, exact = 0, within_10 = 0, within_15 = 0, missed = 0;
  int inside = 0;                     // rows with bounds
  int within_25 = 0, right_side = 0;  // parts of the missed rows, if they are graded
  int cannot_miss = 0;                // rows that look like evidence and are none; they are in no other count
};
Summary summarize(const std::vector<Result>& results);

}  // namespace tandem::paper
