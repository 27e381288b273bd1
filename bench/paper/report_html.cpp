// A page about a paper's rows: errors as dots, printed over modelled numbers, and tables. It is one file without
// a script.
#include <algorithm>

#include "bench/paper/report.h"
#include "engine/app/commands/sync/svg.h"

namespace tandem::paper {
namespace {

using app::escape_markup;
using app::SvgDrawing;
using app::TextAnchor;

// Shapes carry the same meaning as colours: a filled dot meets its bar, a hollow one does not.
constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --page: #fcfcfa; --ink: #1d1f21; --soft: #5c6166; --rule: #dcdcd6; --band: #e3efe8;
  --good: #0072b2; --bad: #c94f00; }
@media (prefers-color-scheme: dark) { :root { --page: #17191b; --ink: #e8e8e3; --soft: #a3a8ad; --rule: #3a3d40;
  --band: #22302a; --good: #4aa8e0; --bad: #f2894a; } }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 72rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.2rem; margin: 2.4rem 0 .4rem; } p { max-width: 48rem; margin: .4rem 0; }
.scroll { overflow-x: auto; } figure { margin: .6rem 0 0; } figure svg { width: 100%; height: auto; display: block; }
table { border-collapse: collapse; font-size: .84rem; font-variant-numeric: tabular-nums; }
th, td { padding: .22rem .5rem; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap; }
td.words, th.words { text-align: left; white-space: normal; } th { color: var(--soft); font-weight: 600; }
.met { color: var(--good); } .missed { color: var(--bad); }
svg text { fill: var(--ink); font: 12px system-ui, "DejaVu Sans", sans-serif; } svg .tick { fill: var(--soft); }
svg .grid { stroke: var(--rule); } svg .even { stroke: var(--ink); } svg .wide, svg .narrow { fill: var(--band); }
svg .wide { opacity: .5; }
svg .met { fill: var(--good); stroke: var(--good); } svg .missed { fill: var(--page); stroke: var(--bad); stroke-width: 2; }
)css";

// A percentage with one digit behind the point and its sign. Small errors become a plain 0.
std::string percent(double fraction) {
  const std::string text = value_text(std::abs(100 * fraction) < 0.05 ? 0 : std::round(1000 * fraction) / 10);
  return (fraction > 0 && text != "0" ? "+" : "") + text + " %";
}

// Errors of the judged rows on one axis; errors outside the axis are drawn at its end.
class ErrorPlot {
 public:
  explicit ErrorPlot(std::vector<const Result*> results) : results_(std::move(results)) {}

  // One line for each row of the paper, and a dot at its error. The two shaded bands are errors of 15 % and 10 %.
  std::string draw() const {
    const double height = kTop + kLine * static_cast<double>(results_.size()) + 30;
    SvgDrawing drawing(kWidth, height, "Error of each held-out row");
    const double bottom = height - 26;
    drawing.bar(at(-0.15), kTop, at(0.15) - at(-0.15), bottom - kTop, "wide");
    drawing.bar(at(-0.10), kTop, at(0.10) - at(-0.10), bottom - kTop, "narrow");
    for (const double tick : {-0.5, -0.25, 0.0, 0.25, 0.5, 0.75}) {
      drawing.line(at(tick), kTop, at(tick), bottom, tick == 0 ? "even" : "grid");
      drawing.text(at(tick), bottom + 16, percent(tick), TextAnchor::middle, "tick");
    }
    double y = kTop + kLine / 2;
    for (const Result* result : results_) {
      const Printed& row = result->row;
      drawing.text(kLeft - 8, y + 4, row.id + "  " + row.what, TextAnchor::end, "name");
      drawing.dot(at(result->error), y, 4.5, result->met ? "met" : "missed",
                  row.id + ": printed " + printed_text(row) + ", modelled " + value_text(*result->modelled) + " " +
                      row.unit + ", " + percent(result->error));
      y += kLine;
    }
    return std::move(drawing).finish();
  }

 private:
  static constexpr double kWidth = 1080, kLeft = 600, kTop = 8, kLine = 19, kLowest = -0.6, kHighest = 0.8;
  // An error's place on the axis.
  static double at(double error) {
    const double part = (std::clamp(error, kLowest, kHighest) - kLowest) / (kHighest - kLowest);
    return kLeft + part * (kWidth - kLeft - 16);
  }
  std::vector<const Result*> results_;
};

// Printed against modelled values, both on logarithmic axes; equal values lie on the diagonal.
std::string scatter(const std::vector<const Result*>& results) {
  constexpr double kSide = 460, kEdge = 52, kMargin = 24;
  std::vector<double> values;
  for (const Result* result : results) values.insert(values.end(), {result->row.printed_high, *result->modelled});
  std::erase_if(values, [](double value) { return value <= 0; });
  const app::LogAxis across = app::LogAxis::around(values, kEdge, kSide - kMargin);
  const app::LogAxis up = app::LogAxis::around(values, kSide - kEdge, kMargin);
  SvgDrawing drawing(kSide, kSide, "Printed against modelled");
  for (const double decade : across.decades()) {
    drawing.line(across.at(decade), kMargin, across.at(decade), kSide - kEdge, "grid");
    drawing.line(kEdge, up.at(decade), kSide - kMargin, up.at(decade), "grid");
    drawing.text(across.at(decade), kSide - kEdge + 16, value_text(decade), TextAnchor::middle, "tick");
    drawing.text(kEdge - 6, up.at(decade) + 4, value_text(decade), TextAnchor::end, "tick");
  }
  drawing.line(across.at(across.low()), up.at(up.low()), across.at(across.high()), up.at(up.high()), "even");
  for (const Result* result : results) {
    const double printed = result->row.printed_high;
    if (printed <= 0 || *result->modelled <= 0) continue;
    drawing.dot(across.at(printed), up.at(*result->modelled), 4, result->met ? "met" : "missed",
                result->row.id + " " + result->row.what);
  }
  drawing.text(kSide / 2, kSide - 12, "printed", TextAnchor::middle, "tick");
  drawing.turned_text(14, kSide / 2, "modelled", "tick");
  return std::move(drawing).finish();
}

// Texts of rows are escaped, because a note may hold < or &.
std::string cell(const std::string& text, const char* css_class = "") {
  return std::string("<td class=\"") + css_class + "\">" + escape_markup(text) + "</td>";
}

// A judged row shows its verdict, and any other row says why it is not judged.
std::string row_of(const Result& result) {
  const Printed& row = result.row;
  const bool judged = result.verdict != Verdict::not_judged;
  return "<tr>" + cell(row.id, "words") + cell(row.what, "words") + cell(printed_text(row)) +
         cell(result.modelled ? value_text(*result.modelled) : "-") + cell(row.unit, "words") +
         cell(result.modelled ? percent(result.error) : "") +
         cell(judged ? to_string(result.verdict) : to_string(row.use), judged ? (result.met ? "met" : "missed") : "") +
         cell(row.note, "words") + "</tr>\n";
}

std::string table(const std::vector<const Result*>& results) {
  std::string text =
      "<div class=\"scroll\"><table><tr><th class=\"words\">id</th><th class=\"words\">what</th><th>printed</th>"
      "<th>modelled</th><th class=\"words\">unit</th><th>error</th><th>verdict</th><th "
      "class=\"words\">note</th></tr>\n";
  for (const Result* result : results) text += row_of(*result);
  return text + "</table></div>\n";
}

std::string section(const std::string& title, const std::string& words, const std::string& content) {
  return "<h2>" + escape_markup(title) + "</h2>\n<p>" + escape_markup(words) + "</p>\n" + content;
}

}  // namespace

// One page without scripts: the judged rows as two drawings and a table, then calibration, then all other rows.
// Held-out rows stand apart from the rest, because nothing else is evidence.
std::string html_report(const std::vector<Result>& results, const Heading& heading) {
  std::vector<const Result*> judged, calibration, others;
  for (const Result& result : results) {
    const Use use = result.row.use;
    (use == Use::held_out ? judged : use == Use::calibration ? calibration : others).push_back(&result);
  }
  const Summary sum = summarize(results);
  std::string page = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
                     escape_markup(heading.paper) +
                     " on the model clock</title>"
                     "<meta name=\"viewport\" content=\"width=device-width\"><style>" +
                     std::string(kStyle) + "</style></head><body>\n";
  page += "<h1>" + escape_markup(heading.paper) + "'s printed numbers on the model clock</h1>\n<p>Profile " +
          escape_markup(heading.profile) + ". Modelled, not measured. " + std::to_string(sum.met) + " of " +
          std::to_string(sum.judged) + " held-out rows meet their bar: " + escape_markup(heading.bars) + ". " +
          std::to_string(sum.cannot_miss) + " that could not have missed are not judged.</p>\n";
  page += section("Held out", "Nothing was fitted to these numbers. Filled: the bar is met. Bands: 10 % and 15 %.",
                  "<figure>" + ErrorPlot(judged).draw() + "</figure>\n<figure style=\"max-width: 32rem\">" +
                      scatter(judged) + "</figure>\n" + table(judged));
  page += section("Calibration", "These fix constants of the profile; what is left is a residual, no evidence.",
                  table(calibration));
  page += section("Not judged", "Here are: " + heading.not_judged + ".", table(others));
  return page + "</body></html>\n";
}

}  // namespace tandem::paper
