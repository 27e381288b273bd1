#include "engine/app/commands/sync/bench_sync_html.h"

#include "engine/app/commands/sync/bench_sync_text.h"
#include "engine/app/commands/sync/svg.h"
#include "engine/app/commands/sync/sync_charts.h"

namespace tandem::app {
namespace {

using namespace sync_lab;

// Readers who do not see all colours can still tell these apart (Okabe and Ito's set). Labels stand beside them.
// Policies have one colour in all charts, and a second one for dark pages.
constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --page: #fcfcfa; --ink: #1d1f21; --soft: #5c6166; --rule: #dcdcd6; --grid: #e6e6e0;
  --good: #1a7f4b; --bad: #b3261e;
  --blocking: #0072b2; --event: #3a9fdc; --spin: #b97a00; --predict: #00805e; --gate: #b5578f; --doorbell: #c94f00; }
@media (prefers-color-scheme: dark) { :root { --page: #17191b; --ink: #e8e8e3; --soft: #a3a8ad; --rule: #3a3d40;
  --grid: #2b2e31; --good: #58c48a; --bad: #f2837b;
  --blocking: #4aa8e0; --event: #8fd0f7; --spin: #e6a93c; --predict: #3cc79c; --gate: #dd92bf; --doorbell: #f2894a; } }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 66rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; } h2 { font-size: 1.3rem; margin: 2.6rem 0 .5rem; }
h3 { font-size: 1.02rem; margin: 1.6rem 0 .2rem; } p { max-width: 46rem; margin: .4rem 0; }
.facts, figcaption, .note { color: var(--soft); font-size: .9rem; }
figure { margin: .4rem 0 0; } figure svg { width: 100%; max-width: 54rem; height: auto; display: block; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .84rem; font-variant-numeric: tabular-nums; }
th, td { padding: .22rem .5rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; color: var(--soft); } td.words, th.words { text-align: left; white-space: normal; } td.policy { text-align: left; }
tr.first td { border-top: 2px solid var(--rule); } .met { color: var(--good); } .missed { color: var(--bad); }
.warning { border-left: 3px solid var(--bad); padding-left: .7rem; }
svg text { fill: var(--ink); font: 12px system-ui, "DejaVu Sans", sans-serif; } svg .tick, svg .axis { fill: var(--soft); }
svg .value { font-size: 11px; fill: var(--soft); } svg .name { font-size: 13px; } svg .limit-label { font-size: 11px; fill: var(--soft); }
svg .grid { stroke: var(--grid); } svg .limit { stroke: var(--ink); stroke-dasharray: 4 3; }
svg .span { stroke: currentColor; stroke-width: 2; } svg .box { fill: currentColor; opacity: .35; }
svg .dot { fill: currentColor; stroke: var(--page); stroke-width: 1.5; }
svg .series { fill: none; stroke: currentColor; stroke-width: 2; }
.policy-blocking { color: var(--blocking); } .policy-event { color: var(--event); } .policy-spin { color: var(--spin); }
.policy-predict { color: var(--predict); } .policy-gate { color: var(--gate); } .policy-doorbell { color: var(--doorbell); }
)css";

// Texts are escaped, because names come from drivers and files.
std::string cell(const std::string& text, const char* css_class = "") {
  const std::string of = *css_class ? std::string(" class=\"") + css_class + "\"" : "";
  return "<td" + of + ">" + escape_markup(text) + "</td>";
}

// The class decides the colour: facts, notes, warnings.
std::string paragraph(const std::string& text, const char* css_class = "note") {
  return "<p class=\"" + std::string(css_class) + "\">" + escape_markup(text) + "</p>\n";
}

// Cores of a device, or that the driver does not tell them.
std::string list_of(const std::vector<int>& cores) {
  std::string text;
  for (const int core : cores) text += (text.empty() ? "" : ", ") + std::to_string(core);
  return text.empty() ? "unknown" : text;
}

// The limit of a device. Its chart, table and target use this one figure.
std::string limit_text(const CacheLine& line) {
  return "a cache line between core " + list_of(line.cores) + " takes " + microseconds(line.round_trip.middle) +
         " µs there and back (mean of the middle half of " + std::to_string(line.round_trip.count) + ")";
}

// A card has no cache line with the host, so the way across its bus is its limit.
std::string bus_text(const BusTrip& bus) {
  return "a read of the host's memory across the bus takes " + microseconds(bus.round_trip.middle) +
         " µs (mean of the middle half of " + std::to_string(bus.round_trip.count) + ")";
}

// The load average stands here because other programs on the cores change the figures. The limits stand here because
// the figures are judged by them.
std::string facts(const LabResult& result) {
  const MachineFacts& machine = result.machine;
  std::string text = machine.processor + ", cores " + list_of(machine.cores) + ", " + machine.system + ", " +
                     number(machine.timer_hz, 0) + " ticks a second, load average";
  for (const double load : machine.load_average) text += " " + number(load, 2);
  text += machine.quiet() ? "." : " (not quiet).";
  for (const DeviceResult& device : result.devices) {
    if (device.limit) text += " " + device.id + ": " + limit_text(*device.limit) + ".";
    if (device.bus) text += " " + device.id + ": " + bus_text(*device.bus) + ".";
  }
  return paragraph(text, "facts");
}

// One row of the table. A row that was not measured has its reason in place of the figures. The dot has the policy's
// colour in the charts. The cells follow the headings of table_of() in number and order.
std::string row_of(const SyncRow& row, const DeviceResult& device, bool first) {
  std::string html = std::string("<tr") + (first ? " class=\"first\"" : "") + ">" +
                     cell(work_name(row.work_seconds) + (row.spinners > 0 ? ", crowded" : ""), "words") +
                     "<td class=\"policy\"><span class=\"" + policy_class(row.policy) + "\">&#9679;</span> " +
                     name_of(row) + "</td>";
  if (row.status != RowStatus::measured) {
    return html + "<td class=\"words\" colspan=\"14\">" + name_of(row.status) + ": " + escape_markup(row.reason) +
           "</td></tr>\n";
  }
  html += cell(std::to_string(row.round_trip.count));
  for (const double value : {row.round_trip.min, row.round_trip.p50, row.round_trip.p90, row.round_trip.p99,
                             row.round_trip.max, row.overhead.p50})
    html += cell(microseconds(value));
  html += cell(row.to_device ? microseconds(row.to_device->p50) : "");
  html += cell(row.to_host ? microseconds(row.to_host->p50) : "");
  html += cell(microseconds(row.cpu_thread_seconds));
  html += cell(number(row.single_per_second, 0));
  html += cell(number(row.chained_per_second, 0));
  html += cell(row.neighbour_slowdown ? number(*row.neighbour_slowdown * 100, 0) + " %" : "");
  const auto times = device.times_limit(row);
  html += cell(times ? number(*times, 1) : "");
  return html + "</tr>\n";
}

// A rule separates groups: lengths of work, and crowded rows from the others.
std::string table_of(const DeviceResult& device) {
  std::string html = "<div class=\"scroll\"><table>\n<tr><th class=\"words\">work</th><th class=\"words\">policy</th>";
  for (const char* title : {"steps", "min", "p50", "p90", "p99", "max", "added", "to device", "to host", "CPU",
                            "single/s", "chained/s", "neighbour", "× limit"})
    html += std::string("<th>") + title + "</th>";
  html += "</tr>\n";
  const SyncRow* before = nullptr;
  for (const SyncRow& row : device.rows) {
    const bool first = before && (before->work_seconds != row.work_seconds || before->spinners != row.spinners);
    html += row_of(row, device, first);
    before = &row;
  }
  return html + "</table></div>\n";
}

// A chart without data is an empty text, and then its heading is left out too.
std::string figure(const std::string& title, const std::string& drawing, const std::string& caption) {
  if (drawing.empty()) return "";
  return "<h3>" + escape_markup(title) + "</h3>\n<figure>" + drawing + "<figcaption>" + escape_markup(caption) +
         "</figcaption></figure>\n";
}

// Everything about one device: limit, three charts, the table. A card has the bus as its limit and any other device a
// cache line. A device with neither says why.
std::string section(const DeviceResult& device) {
  std::string html = "<h2>" + escape_markup(device.id) + "</h2>\n" + paragraph(device.name + ", " + device.driver);
  if (!device.problem.empty()) return html + paragraph("cannot be used: " + device.problem, "warning");
  html += paragraph("It works on core " + list_of(device.cores) + "; the waiting thread is on core " +
                    std::to_string(device.waiter_core) + (device.shares_core ? ", which is shared. " : ". ") +
                    (device.limit
                         ? "Its limit: " + limit_text(*device.limit) + ", " +
                               microseconds(device.limit->before_seconds) + " µs before and " +
                               microseconds(device.limit->after_seconds) + " µs after the row that is judged by it."
                     : device.bus ? "Its limit: " + bus_text(*device.bus) + ", measured just before its rows."
                                  : "It has no limit: " + (device.own_memory ? device.no_bus : device.no_limit) + "."));
  html += figure("How long a hand-over takes", latency_chart(device),
                 "Line: least to 99 of 100 steps; box: least to 90 of 100; dot: median.");
  const double work = telling_work(device);
  html += figure("What it costs in processor time", cpu_chart(device, work),
                 "Down and to the left is better: less added to the step, less processor time burnt meanwhile.");
  html += figure("How it depends on the step's length", overhead_chart(device),
                 "What a policy adds to a step beyond its own work, medians.");
  html +=
      "<h3>All figures</h3>\n" +
      paragraph(
          "Microseconds a step. added: round trip less the work, median. to device, to host: one way, "
          "median, where the clocks compare. CPU: of the waiting thread in wait(). neighbour: what a thread "
          "computing on the waiter's core loses. single/s: steps started one by one, without a rest. chained/s: steps "
          "behind one signal. × limit: added over the round trip of the cache line, or of a card's bus. "
          "launch+finish: a launch and its end through the driver, where a policy cannot be measured. crowded: "
          "one more thread spins on every core.") +
      table_of(device);
  return html;
}

// A target without a figure is neither met nor missed.
std::string targets(const std::vector<Target>& all) {
  std::string html =
      "<h2>Targets</h2>\n<div class=\"scroll\"><table>\n<tr><th class=\"words\">target</th><th>figure</th>"
      "<th>wanted</th><th></th><th class=\"words\">from</th></tr>\n";
  for (const Target& target : all) {
    const char* met = !target.figure ? "" : target.met() ? "met" : "missed";
    html += "<tr>" + cell(target.name, "words") +
            cell(target.figure ? number(*target.figure, 3) + " " + target.unit : "none") +
            cell((target.at_least ? "≥ " : "≤ ") + number(target.bound, 2) + " " + target.unit) + cell(met, met) +
            cell(target.note, "words") + "</tr>\n";
  }
  return html + "</table></div>\n";
}

// The saving is computed and not measured, which the text says beside the table.
std::string meaning(const DecodeMeaning& decode) {
  std::string html = "<h2>What it means</h2>\n" +
                     paragraph(decode.model + ", plan " + decode.plan + ": a decode step has " +
                                   std::to_string(decode.steps) + " steps and " + std::to_string(decode.waits) +
                                   " waits. Saved per decode step against \"blocking\", computed: waits times the "
                                   "difference of the measured medians.",
                               "facts") +
                     "<div class=\"scroll\"><table>\n<tr><th class=\"words\">device</th><th class=\"words\">policy</th>"
                     "<th>waits</th><th>saved, µs</th></tr>\n";
  for (const DecodeSaving& saving : decode.savings) {
    html += "<tr>" + cell(saving.device, "words") + cell(name_of(saving.policy), "words") +
            cell(std::to_string(saving.waits)) + cell(microseconds(saving.saved_seconds)) + "</tr>\n";
  }
  html += "</table></div>\n";
  for (const std::string& note : decode.notes) html += paragraph(note);
  return html;
}

}  // namespace

// Warnings and targets come first, because they decide whether the figures below can be trusted.
std::string sync_html(const LabResult& result) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>What waiting costs</title>\n<style>" +
      std::string(kStyle) + "</style>\n</head>\n<body>\n<h1>What waiting costs</h1>\n" + facts(result);
  for (const std::string& warning : result.warnings) html += paragraph(warning, "warning");
  html += targets(result.targets);
  for (const DeviceResult& device : result.devices) html += section(device);
  if (result.decode) html += meaning(*result.decode);
  return html + "</body>\n</html>\n";
}

}  // namespace tandem::app
