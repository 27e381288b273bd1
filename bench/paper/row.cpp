// Judges one row: how far the modelled number is from the printed one, and what that means for this kind of row.
#include "bench/paper/row.h"

#include <utility>

namespace tandem::paper {

// The words of a verdict, as reports print them. `miss` is the last judged one.
const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::exact:
      return "exact";
    case Verdict::inside:
      return "inside";
    case Verdict::within_10:
      return "within 10 %";
    case Verdict::within_15:
      return "within 15 %";
    case Verdict::within_25:
      return "within 25 %";
    case Verdict::right_side:
      return "right side";
    case Verdict::miss:
      return "miss";
    case Verdict::not_judged:
      break;
  }
  return "-";
}

// The words for a row that is not judged: why its number is no evidence.
const char* to_string(Use use) {
  switch (use) {
    case Use::held_out:
      return "held out";
    case Use::calibration:
      return "calibration";
    case Use::shared:
      return "shared";
    case Use::input:
      return "input";
    case Use::conflict:
      return "conflict";
    case Use::cannot_miss:
      return "not judged";
    case Use::derived:
      return "derived";
    case Use::peer:
      return "peer";
    case Use::cited:
      return "cited";
    case Use::unpredicted:
      break;
  }
  return "not predicted";
}

// A value within the printed range has no error. Outside, the nearer end is the measure.
double error_of(double modelled, double low, double high) {
  if (modelled >= low && modelled <= high) return 0;
  const double near = modelled < low ? low : high;
  return near == 0 ? modelled : modelled / near - 1;
}

double error_of(const Printed& row, double modelled) {
  if (row.kind == Kind::bounds) modelled = std::round(100 * modelled) / 100;
  // 1e-9 is for the rounding of decimal fractions.
  if (row.kind == Kind::quotient && std::abs(modelled - row.printed_low) <= 0.01 + 1e-9) return 0;
  return error_of(modelled, row.printed_low, row.printed_high);
}

int number_of(const std::string& id) { return std::stoi(id.substr(2)); }

// The bars of every paper: exact numbers must be met, bounds kept, and other numbers be within 10 or 15 %.
Verdict verdict_of(double error, Kind kind) {
  const double size = std::abs(error);
  if (kind == Kind::bounds) return size == 0 ? Verdict::inside : Verdict::miss;
  if (kind == Kind::exact || kind == Kind::quotient) return size == 0 ? Verdict::exact : Verdict::miss;
  return size <= 0.10 ? Verdict::within_10 : size <= 0.15 ? Verdict::within_15 : Verdict::miss;
}

// A miss may still be near (25 %), or at least say rightly which of two is faster. Neither meets a bar.
Verdict graded(Verdict verdict, const Printed& row, double modelled, double error) {
  if (verdict != Verdict::miss || row.kind >= Kind::exact) return verdict;
  if (std::abs(error) <= 0.25) return Verdict::within_25;
  const bool ratio = row.kind == Kind::ratio && row.unit == "x";
  return ratio && (modelled > 1) == (row.printed_low > 1) ? Verdict::right_side : verdict;
}

// Each paper says whether 15 % is enough for ratios and for absolute values.
bool meets_bar(Verdict verdict, Kind kind, const Bars& bars) {
  if (verdict == Verdict::within_15) return (kind == Kind::ratio ? bars.ratio : bars.absolute) >= 0.15;
  return verdict == Verdict::exact || verdict == Verdict::inside || verdict == Verdict::within_10;
}

// A row that nothing was fitted to gets a verdict. Other rows keep their error as a residual.
Result judged(Printed row, std::optional<double> modelled, const Bars& bars) {
  Result result{std::move(row), modelled, 0, Verdict::not_judged, false};
  if (!modelled) return result;
  result.error = error_of(result.row, *modelled);
  if (result.row.use != Use::held_out) return result;
  result.verdict = verdict_of(result.error, result.row.kind);
  if (bars.grade_misses) result.verdict = graded(result.verdict, result.row, *modelled, result.error);
  result.met = meets_bar(result.verdict, result.row.kind, bars);
  return result;
}

// Counts verdicts for the first line of a report.
Summary summarize(const std::vector<Result>& results) {
  Summary summary;
  for (const Result& result : results) {
    summary.cannot_miss += result.row.use == Use::cannot_miss;
    if (result.verdict == Verdict::not_judged) continue;
    ++summary.judged;
    summary.met += result.met;
    summary.exact += result.verdict == Verdict::exact;
    summary.inside += result.verdict == Verdict::inside;
    summary.within_10 += result.verdict == Verdict::within_10;
    summary.within_15 += result.verdict == Verdict::within_15;
    summary.within_25 += result.verdict == Verdict::within_25;
    summary.right_side += result.verdict == Verdict::right_side;
    summary.missed += !(result.verdict <= Verdict::within_15);
  }
  return summary;
}

}  // namespace tandem::paper
