#include "bench/paper_heterollm/row.h"

namespace tandem::paper_heterollm {

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::exact:
      return "exact";
    case Verdict::within_10:
      return "within 10 %";
    case Verdict::within_15:
      return "within 15 %";
    case Verdict::miss:
      return "miss";
    case Verdict::not_judged:
      break;
  }
  return "-";
}

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
    case Use::peer:
      return "peer";
    case Use::cited:
      return "cited";
    case Use::unpredicted:
      break;
  }
  return "not predicted";
}

double error_of(double modelled, double low, double high) {
  if (modelled >= low && modelled <= high) return 0;
  const double near = modelled < low ? low : high;
  return near == 0 ? modelled : modelled / near - 1;
}

Verdict verdict_of(double error, Kind kind) {
  const double size = std::abs(error);
  if (kind == Kind::exact) return size == 0 ? Verdict::exact : Verdict::miss;
  return size <= 0.10 ? Verdict::within_10 : size <= 0.15 ? Verdict::within_15 : Verdict::miss;
}

bool meets_bar(Verdict verdict, Kind kind) {
  if (verdict == Verdict::within_15) return kind == Kind::absolute;
  return verdict == Verdict::exact || verdict == Verdict::within_10;
}

Result judge(const Row& row, Lab& lab) {
  Result result{&row, {}, 0, Verdict::not_judged, false};
  if (!row.modelled) return result;
  result.modelled = row.modelled(lab);
  result.error = error_of(*result.modelled, row.printed_low, row.printed_high);
  if (row.use != Use::held_out) return result;
  result.verdict = verdict_of(result.error, row.kind);
  result.met = meets_bar(result.verdict, row.kind);
  return result;
}

Summary summarize(const std::vector<Result>& results) {
  Summary summary;
  for (const Result& result : results) {
    summary.cannot_miss += result.row->use == Use::cannot_miss;
    if (result.verdict == Verdict::not_judged) continue;
    ++summary.judged;
    summary.met += result.met;
    summary.exact += result.verdict == Verdict::exact;
    summary.within_10 += result.verdict == Verdict::within_10;
    summary.within_15 += result.verdict == Verdict::within_15;
    summary.missed += result.verdict == Verdict::miss;
  }
  return summary;
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const auto add :
       {add_processor_rows, add_plan_rows, add_prefill_rows, add_decode_rows, add_sync_rows, add_phone_rows}) {
    add(rows);
  }
  return rows;
}

}  // namespace tandem::paper_heterollm
