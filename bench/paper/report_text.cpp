// The same rows as text and as JSON. Rows that calibrate the model are listed apart from those that test it.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/paper/report.h"
#include "sync/error.h"

namespace tandem::paper {
namespace {

std::string padded(const std::string& text, size_t width, bool right = false) {
  const std::string space(text.size() < width ? width - text.size() : 0, ' ');
  return right ? space + text : text + space;
}

// One line of a table. The note comes last, since it has no fixed width.
std::string line_of(const Result& result) {
  const Printed& row = result.row;
  const std::string modelled = result.modelled ? value_text(*result.modelled) : "-";
  std::string line = padded(row.id, 5) + padded(row.what, 88) + padded(printed_text(row), 15, true) +
                     padded(modelled, 11, true) + " " + padded(row.unit, 7);
  line += padded(result.modelled ? percent_text(result.error) : "", 10, true) + "  ";
  line += padded(result.verdict == Verdict::not_judged ? to_string(row.use) : to_string(result.verdict), 15);
  if (!row.note.empty()) line += row.note;
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string header() {
  return padded("id", 5) + padded("what", 88) + padded("printed", 15, true) + padded("modelled", 11, true) + " " +
         padded("unit", 7) + padded("error", 10, true) + "  verdict\n";
}

// The three kinds of rows that have a table each.
bool is_judged(const Result& result) { return result.row.use == Use::held_out; }
bool is_calibration(const Result& result) { return result.row.use == Use::calibration; }
bool is_other(const Result& result) { return !is_judged(result) && !is_calibration(result); }

std::string table(const std::vector<Result>& results, bool (*belongs)(const Result&)) {
  std::string text = header();
  for (const Result& result : results)
    if (belongs(result)) text += line_of(result);
  return text;
}

// Some papers' bars grade their misses as well (Bars::grade_misses).
std::string graded_misses(const Summary& sum) {
  if (sum.within_25 + sum.right_side == 0) return "";
  return ", of these " + std::to_string(sum.within_25) + " within 25 % and " + std::to_string(sum.right_side) +
         " more on the right side of 1";
}

// A number that was printed as a range has two values.
nlohmann::ordered_json json_of(const Result& result) {
  const Printed& row = result.row;
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
  // Four digits. Whole thousands of tokens, or of tokens a second, are printed without an exponent.
  std::snprintf(text, sizeof text, value >= 1e3 && value < 1e6 ? "%.0f" : "%.4g", value);
  return text;
}

std::string percent_text(double fraction) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%", 100 * fraction);
  return text;
}

std::string printed_text(const Printed& row) {
  if (row.printed_low == row.printed_high) return value_text(row.printed_low);
  return value_text(row.printed_low) + " .. " + value_text(row.printed_high);
}

// The text begins with what was judged and how many rows met their bar. Rows that fix constants follow, since their
// errors are no evidence.
std::string text_report(const std::vector<Result>& results, const Heading& heading) {
  const Summary sum = summarize(results);
  std::string text = heading.paper + "'s printed numbers against the model clock, profile " + heading.profile +
                     ". Modelled, not measured.\n\n";
  text += "Held out: nothing was fitted to these numbers. Bars: " + heading.bars + ".\n\n" + table(results, is_judged);
  text += "\n" + std::to_string(sum.met) + " of " + std::to_string(sum.judged) +
          " meet their bar: " + std::to_string(sum.exact) + " exact, " +
          (sum.inside > 0 ? std::to_string(sum.inside) + " inside their bounds, " : "") +
          std::to_string(sum.within_10) + " within 10 %, " + std::to_string(sum.within_15) + " more within 15 % (" +
          heading.between + "); " + std::to_string(sum.missed) + " miss" + graded_misses(sum) + ".\n";
  if (sum.cannot_miss > 0) {
    text += std::to_string(sum.cannot_miss) +
            " more were set apart as held out and are not judged: they could not have missed (below, with the "
            "reasons).\n";
  }
  text += "\nCalibration: these fix constants; what is left is a residual, no evidence.\n\n" +
          table(results, is_calibration);
  text += "\nNot judged: " + heading.not_judged + ".\n\n" + table(results, is_other);
  return text;
}

// The document has the counts of the text report and every row.
std::string json_report(const std::vector<Result>& results, const Heading& heading) {
  const Summary sum = summarize(results);
  nlohmann::ordered_json json = {{"schema", kReportSchema},       {"bench", heading.bench}, {"clock", "model"},
                                 {"profile", heading.profile},    {"judged", sum.judged},   {"met", sum.met},
                                 {"cannot_miss", sum.cannot_miss}};
  for (const Result& result : results) json["rows"].push_back(json_of(result));
  return json.dump(2) + "\n";
}

// The constants that a calibration found, each with the number that it was fitted to.
std::string text_of(const std::vector<Residual>& residuals) {
  std::string text = padded("constant", 30) + padded("value", 12, true) + padded("printed", 11, true) +
                     padded("modelled", 11, true) + padded("residual", 11, true) + "  from\n";
  for (const Residual& r : residuals) {
    text += padded(r.key, 30) + padded(value_text(r.value), 12, true) + padded(value_text(r.printed), 11, true) +
            padded(value_text(r.modelled), 11, true) + padded(percent_text(r.error()), 11, true) + "  " + r.from + "\n";
  }
  return text;
}

void write_report(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error("cannot write the report", path, "check the path and the space left");
}

// Text goes to standard output, and files are written if they were asked for.
void publish(const std::vector<Result>& results, const Heading& heading, const Options& options) {
  std::fputs(text_report(results, heading).c_str(), stdout);
  write_report(options.json, json_report(results, heading));
  write_report(options.html, html_report(results, heading));
}

// Constants are kept with few digits, so that a profile's text shows what it was fitted with.
double rounded(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return std::strtod(text, nullptr);
}

// Thirty steps halve the interval's logarithm, far below the digits that are kept.
double bisect(const std::function<double(double)>& f, double least, double most, double target) {
  const bool rises = f(most) > f(least);
  constexpr int kSteps = 30;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = std::sqrt(least * most);
    ((f(middle) < target) == rises ? least : most) = middle;
  }
  return std::sqrt(least * most);
}

}  // namespace tandem::paper
