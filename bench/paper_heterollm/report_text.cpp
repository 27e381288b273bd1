#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/paper_heterollm/report.h"

namespace tandem::paper_heterollm {
namespace {

std::string padded(const std::string& text, size_t width, bool right = false) {
  const std::string space(text.size() < width ? width - text.size() : 0, ' ');
  return right ? space + text : text + space;
}

std::string percent(double fraction) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%", 100 * fraction);
  return text;
}

std::string line_of(const Result& result) {
  const Row& row = *result.row;
  const std::string modelled = result.modelled ? value_text(*result.modelled) : "-";
  std::string line = padded(row.id, 5) + padded(row.what, 88) + padded(printed_text(row), 15, true) +
                     padded(modelled, 11, true) + " " + padded(row.unit, 7);
  line += padded(result.modelled ? percent(result.error) : "", 10, true) + "  ";
  line += padded(result.verdict == Verdict::not_judged ? to_string(row.use) : to_string(result.verdict), 13);
  if (!row.note.empty()) line += row.note;
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string header() {
  return padded("id", 5) + padded("what", 88) + padded("printed", 15, true) + padded("modelled", 11, true) + " " +
         padded("unit", 7) + padded("error", 10, true) + "  verdict\n";
}

bool is_judged(const Result& result) { return result.row->use == Use::held_out; }
bool is_calibration(const Result& result) { return result.row->use == Use::calibration; }
bool is_other(const Result& result) { return !is_judged(result) && !is_calibration(result); }

std::string table(const std::vector<Result>& results, bool (*belongs)(const Result&)) {
  std::string text = header();
  for (const Result& result : results)
    if (belongs(result)) text += line_of(result);
  return text;
}

nlohmann::ordered_json json_of(const Result& result) {
  const Row& row = *result.row;
  nlohmann::ordered_json json = {{"id", row.id}, {"what", row.what}, {"unit", row.unit}, {"use", to_string(row.use)}};
  json["printed"] = row.printed_low == row.printed_high ? nlohmann::ordered_json(row.printed_low)
                                                        : nlohmann::ordered_json({row.printed_low, row.printed_high});
  if (result.modelled) {
    json["modelled"] = *result.modelled;
    json["error"] = result.error;
  }
  if (result.verdict != Verdict::not_judged) {
    json["verdict"] = to_string(result.verdict);
    json["met"] = result.met;
  }
  if (!row.note.empty()) json["note"] = row.note;
  return json;
}

}  // namespace

std::string value_text(double value) {
  char text[32];
  // Four digits; whole thousands of tokens or tokens a second are no place for an exponent.
  std::snprintf(text, sizeof text, value >= 1e3 && value < 1e6 ? "%.0f" : "%.4g", value);
  return text;
}

std::string printed_text(const Row& row) {
  if (row.printed_low == row.printed_high) return value_text(row.printed_low);
  return value_text(row.printed_low) + " .. " + value_text(row.printed_high);
}

std::string text_report(const std::vector<Result>& results, const SocProfile& profile) {
  const Summary sum = summarize(results);
  std::string text =
      "HeteroLLM's printed numbers against the model clock, profile " + profile.name + ". Modelled, not measured.\n\n";
  text += "Held out: nothing was fitted to these numbers. Bars: ratios 10 %, absolute values 15 %.\n\n" +
          table(results, is_judged);
  text += "\n" + std::to_string(sum.met) + " of " + std::to_string(sum.judged) +
          " meet their bar: " + std::to_string(sum.exact) + " exact, " + std::to_string(sum.within_10) +
          " within 10 %, " + std::to_string(sum.within_15) + " more within 15 % (absolute values alone pass there); " +
          std::to_string(sum.missed) + " miss.\n";
  if (sum.cannot_miss > 0) {
    text += std::to_string(sum.cannot_miss) +
            " more were set apart as held out and are not judged: they could not have missed (below, with the "
            "reasons).\n";
  }
  text += "\nCalibration: these fix constants; what is left is a residual, no evidence.\n\n" +
          table(results, is_calibration);
  text +=
      "\nNot judged: inputs, other engines (one rate each), numbers that contradict others, rows that could not "
      "miss, what the clock does not model.\n\n" +
      table(results, is_other);
  return text;
}

std::string json_report(const std::vector<Result>& results, const SocProfile& profile) {
  const Summary sum = summarize(results);
  nlohmann::ordered_json json = {{"schema", kReportSchema},       {"bench", "paper-heterollm"}, {"clock", "model"},
                                 {"profile", profile.name},       {"judged", sum.judged},       {"met", sum.met},
                                 {"cannot_miss", sum.cannot_miss}};
  for (const Result& result : results) json["rows"].push_back(json_of(result));
  return json.dump(2) + "\n";
}

std::string text_of(const Calibration& calibration) {
  std::string text = padded("constant", 30) + padded("value", 12, true) + padded("printed", 11, true) +
                     padded("modelled", 11, true) + padded("residual", 11, true) + "  from\n";
  for (const Residual& r : calibration.residuals) {
    text += padded(r.key, 30) + padded(value_text(r.value), 12, true) + padded(value_text(r.printed), 11, true) +
            padded(value_text(r.modelled), 11, true) + padded(percent(r.error()), 11, true) + "  " + r.from + "\n";
  }
  return text;
}

}  // namespace tandem::paper_heterollm
