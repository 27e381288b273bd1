// The page of `replay-moe --html`: one file without a script or a link, which can be sent to others. Each section is a
// function of the replayed trace.
#include "engine/app/commands/models/replay_page.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/app/commands/sync/svg.h"
#include "engine/moe/expert_cache.h"
#include "engine/moe/trace_statistics.h"

namespace tandem::app {
namespace {

// Colours of Okabe and Ito's set, lighter ones for dark screens. Bounds are dashed and fixed sets dotted, so colours
// are not needed to tell the kinds apart.
constexpr const char* kPageStyle = R"css(
:root { color-scheme: light dark; --page: #fcfcfa; --ink: #1d1f21; --soft: #5c6166; --rule: #dcdcd6; --grid: #e6e6e0;
  --heat: #0072b2; --on-task: #ffffff;
  --lru: #0072b2; --lfu: #3a9fdc; --mrs: #c94f00; --ema: #00805e; --belady: #1d1f21; --bypass: #5c6166; --static: #b97a00;
  --half: #b5578f; }
@media (prefers-color-scheme: dark) { :root { --page: #17191b; --ink: #e8e8e3; --soft: #a3a8ad; --rule: #3a3d40;
  --grid: #2b2e31; --heat: #4aa8e0; --on-task: #17191b;
  --lru: #4aa8e0; --lfu: #8fd0f7; --mrs: #f2894a; --ema: #3cc79c; --belady: #e8e8e3; --bypass: #a3a8ad; --static: #e6a93c;
  --half: #dd92bf; } }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 44rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .4rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .2rem; } .chart p { font-size: .9rem; margin: .5rem 0 0; } .chart figure { margin: 0; }
p { margin: .4rem 0; } .note { color: var(--soft); font-size: .9rem; }
figure { margin: .6rem 0; } figure svg { width: 100%; max-width: 38rem; height: auto; display: block; }
ul.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0; margin: .3rem 0; font-size: .9rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .22rem .45rem; text-align: right; border-bottom: 1px solid var(--rule); }
th { color: var(--soft); font-weight: 600; } td.words, th.words { text-align: left; }
svg text { fill: var(--ink); font: 12px system-ui, "DejaVu Sans", sans-serif; } svg .tick, svg .axis { fill: var(--soft); }
svg .grid { stroke: var(--grid); } svg .series { fill: none; stroke: currentColor; stroke-width: 2; }
svg .dot { fill: currentColor; } svg .bar { fill: var(--heat); } svg .on-task { fill: var(--on-task); }
svg .heat { fill: var(--heat); } svg .task { fill: var(--heat); stroke: var(--page); } svg .lane1 { fill: var(--mrs); }
svg .lane2 { fill: var(--ema); } svg .lane3 { fill: var(--half); }
.heat0 { opacity: .03; } .heat1 { opacity: .12; } .heat2 { opacity: .24; } .heat3 { opacity: .36; } .heat4 { opacity: .48; }
.heat5 { opacity: .6; } .heat6 { opacity: .7; } .heat7 { opacity: .8; } .heat8 { opacity: .9; } .heat9 { opacity: 1; }
.chance { color: var(--soft); stroke-dasharray: 2 4; } .belady, .bypass { stroke-dasharray: 6 4; }
.static, .half { stroke-dasharray: 2 3; } svg .dot { stroke: none; }
.lru, .card0 { color: var(--lru); } .lfu, .card3 { color: var(--lfu); } .mrs, .card1 { color: var(--mrs); }
.ema, .card2 { color: var(--ema); } .belady { color: var(--belady); } .bypass { color: var(--bypass); }
.static { color: var(--static); } .half { color: var(--half); }
)css";

std::string in_figure(const std::string& drawing) {
  return drawing.empty() ? "" : "<figure>" + drawing + "</figure>\n";
}
std::string in_words(const std::string& text, const char* css_class = "") {
  return std::string("<p") + (*css_class ? std::string(" class=\"") + css_class + "\"" : "") + ">" +
         escape_markup(text) + "</p>\n";
}
std::string headed(const char* title) { return std::string("<h2>") + title + "</h2>\n"; }

std::string fixed(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// Budgets that give different numbers of slots: at most sixteen, from one slot to all.
std::vector<double> budgets_of_curve(int64_t experts) {
  std::vector<double> budgets;
  const int64_t steps = std::min<int64_t>(16, experts);
  for (int64_t i = 1; i <= steps; ++i) {
    const int64_t slots = i * experts / steps;
    budgets.push_back(100.0 * static_cast<double>(slots) / static_cast<double>(experts));
  }
  return budgets;
}

// Hit rates of each policy over the budgets, in percent.
std::vector<ChartLine> hit_curves(const ReplayPage& page, const std::vector<double>& budgets) {
  std::vector<ChartLine> lines;
  for (const PolicyKind* policy : page.policies) {
    ChartLine line{std::string(policy->name), std::string(policy->name), {}};
    for (const double budget : budgets)
      line.points.emplace_back(budget,
                               100 * replay_cache(page.trace.layers, *policy, budget, page.settings).hit_rate());
    lines.push_back(std::move(line));
  }
  return lines;
}

// A mark in the colour of each line, and its name in the colour of text, so that names stay readable.
std::string legend_of(const std::vector<ChartLine>& lines) {
  std::string items;
  for (const ChartLine& line : lines)
    items += "<li class=\"" + escape_markup(line.css_class) + "\">&#9632; <span style=\"color: var(--ink)\">" +
             escape_markup(line.name) + "</span></li>";
  return "<ul class=\"legend\">" + items + "</ul>\n";
}

// A row for each policy, and a column for each budget and lookup. Rows of a policy follow each other in the same order.
std::string hits_table(const std::vector<ReplayRow>& rows) {
  std::string head, body;
  for (size_t i = 0; i < rows.size(); ++i) {
    const ReplayRow& row = rows[i];
    if (row.policy == rows.front().policy && (i == 0 || row.policy == rows[i - 1].policy))
      head += "<th>" + short_number(row.budget_percent) + " %, " +
              (row.lookup == ExpertLookup::together ? "together" : "single") + "</th>";
    if (i == 0 || row.policy != rows[i - 1].policy)
      body +=
          std::string(i == 0 ? "" : "</tr>\n") + "<tr><td class=\"words\">" + std::string(row.policy->name) + "</td>";
    body += "<td>" + fixed(100 * row.hit_rate(), 1) + "</td>";
  }
  return "<div class=\"scroll\"><table><tr><th class=\"words\">hits, %</th>" + head + "</tr>\n" + body +
         "</tr></table></div>\n";
}

// Chance is a line of its own: a cache that holds random experts hits as often as its share of them.
std::string hits_section(const ReplayPage& page, const std::vector<ChartLine>& curves) {
  ChartFrame frame{"Hit rate over budget", "slots, % of a layer's experts", "hits, %"};
  frame.across_ticks = frame.up_ticks = {0, 25, 50, 75, 100};
  std::vector<ChartLine> lines = curves;
  lines.push_back({"chance: the budget itself", "chance", {{0, 0}, {100, 100}}});
  std::string text = headed("Hits over budget") + in_figure(line_chart(frame, lines)) + legend_of(lines);
  text +=
      in_words(std::string("Counted on the trace. A token's experts are looked up ") +
                   (page.settings.policy.lookup == ExpertLookup::together ? "together" : "one after another") +
                   (page.settings.reset_each ? "; all begins anew with each sequence."
                                             : "; caches stay from sequence to sequence.") +
                   " Dashed: bounds that know the future. Dotted: fixed sets; half is judged on the second half alone.",
               "note");
  text += hits_table(page.rows);
  for (const std::string& line : mrs_lead(page.rows)) text += in_words(line, "note");
  return text;
}

// Shows by eye whether a few experts do most of the work. Then fixed sets are good, and caches gain little.
std::string heat_section(const ReplayPage& page) {
  std::vector<std::vector<int64_t>> uses;
  for (const LayerRequests& layer : page.trace.layers) uses.push_back(uses_of(layer));
  return headed("Which experts are used") + in_figure(heat_map(page.trace.routing.trace.layers, uses)) +
         in_words(
             "A row is a layer and a column an expert. Darker on a light screen, brighter on a dark one: used more "
             "often. The fourth step is an even use.",
             "note");
}

// An LRU cache hits what comes back within few tokens, so this chart says how well one can do.
std::string reuse_section(const ReplayPage& page) {
  const ReuseDistances distances = reuse_distances(page.trace.layers);
  const auto share = [&](int64_t count) {
    return distances.requests == 0 ? 0 : static_cast<double>(count) / static_cast<double>(distances.requests);
  };
  std::vector<std::pair<std::string, double>> bars;
  for (size_t i = 0; i < distances.again.size(); ++i) {
    const int64_t from = int64_t{1} << i, to = 2 * from - 1;
    bars.emplace_back(from == to ? "1 token" : std::to_string(from) + " to " + std::to_string(to),
                      share(distances.again[i]));
  }
  bars.emplace_back("never before", share(distances.never));
  return headed("How long until an expert is used again") +
         in_figure(bar_chart("Requests by the tokens since the last one for the same expert", bars)) +
         in_words("Share of all requests, by how many tokens ago the same layer asked for the same expert.", "note");
}

// How many experts a prompt of some length loads. Windows grow by factors of two, up to 1,024 tokens.
std::string window_section(const ReplayPage& page) {
  ChartLine line{"different experts", "mrs", {}};
  const auto experts = static_cast<double>(page.trace.routing.trace.experts);
  ChartFrame frame{"Different experts in a window", "tokens", "different experts of a layer"};
  int64_t longest = 0;
  for (const LayerRequests& layer : page.trace.layers) longest = std::max(longest, layer.tokens());
  for (int64_t window = 1; window <= std::min<int64_t>(longest, 1024); window *= 2) {
    line.points.emplace_back(window, experts_in_window(page.trace.layers, window));
    if (line.points.size() % 2 == 1) frame.across_ticks.push_back(static_cast<double>(window));
  }
  frame.doubles = true;
  frame.from = 1, frame.to = std::max(2.0, line.points.empty() ? 2.0 : line.points.back().first);
  frame.most = experts;
  frame.up_ticks = {0, std::floor(experts / 2), experts};
  return headed("How many different experts some tokens use") + in_figure(line_chart(frame, {line})) +
         in_words(
             "Mean over layers and over windows that do not overlap. A prompt of so many tokens loads so many experts.",
             "note");
}

// Modelled times are called so in the text, since the other sections count what happened.
std::string lanes_section(const ReplayPage& page) {
  if (page.lanes.policy == nullptr) return "";
  std::string text = headed("What each schedule does");
  for (const ScheduledExperts& drawn : schedule_charts(page.trace, page.lanes)) {
    text += "<h3>" + escape_markup(drawn.title) + "</h3>\n" + in_words(drawn.words);
    text += "<div class=\"charts\">\n";
    for (const LaneTimeline& chart : drawn.charts)
      text += "<div class=\"chart\">" + in_words(chart.title) + in_figure(lanes_chart(chart)) + "</div>\n";
    text += "</div>\n";
  }
  return text + in_words("Modelled, not measured: the costs are " + page.costs_of_lanes +
                             ". A block is an expert, and " + "its number is shown where there is room. A cache with " +
                             std::string(page.lanes.policy->name) + " and " + fixed(page.lanes.budget_percent, 0) +
                             " % of the experts says what the GPU holds. docs/hybrimoe.md explains the schedules.",
                         "note");
}

// The best hit rate of the policies that an engine can have, at each budget.
double best_hits(const std::vector<ChartLine>& curves, size_t at) {
  double best = 0;
  for (const ChartLine& curve : curves) {
    const PolicyKind* policy = expert_policy(curve.name);
    if (policy && !policy->knows_future) best = std::max(best, curve.points[at].second / 100);
  }
  return best;
}

// Draws a curve for each card: the speed over the memory for experts, with the best hit rate at each budget. Budgets
// that do not fit the card are left out.
std::string speed_section(const ReplayPage& page, const std::vector<ChartLine>& curves,
                          const std::vector<double>& budgets) {
  if (!page.model || page.cards.empty()) return "";
  ChartFrame frame{"Speed over memory", "GB of the card's memory", "tokens/s, modelled"};
  std::vector<ChartLine> lines;
  std::string sentences;
  frame.to = frame.most = 1e-9;
  for (size_t c = 0; c < page.cards.size(); ++c) {
    const Card& card = page.cards[c];
    std::vector<SpeedPoint> points;
    for (size_t i = 0; i < budgets.size(); ++i) {
      const double bytes = page.model->held(budgets[i] / 100);
      if (bytes <= card.memory_bytes)
        points.push_back({bytes, tokens_per_second(*page.model, card, best_hits(curves, i))});
    }
    sentences += in_words(knee_sentence(card, points));
    ChartLine line{card.name, "card" + std::to_string(c % 4), {}};
    for (const SpeedPoint& point : points) {
      line.points.emplace_back(point.bytes / 1e9, point.tokens_per_second);
      frame.to = std::max(frame.to, point.bytes / 1e9), frame.most = std::max(frame.most, point.tokens_per_second);
    }
    lines.push_back(std::move(line));
  }
  frame.across_ticks = round_ticks(frame.to);
  frame.up_ticks = round_ticks(frame.most);
  return headed("What a card's memory would bring") + in_figure(line_chart(frame, lines)) + legend_of(lines) +
         sentences +
         in_words(
             "Modelled, not measured: " + page.model_name + " in " + page.weights +
                 ". A token reads everything that is not an expert and its own experts once at the card's rate. A "
                 "miss is copied over the link first, and nothing overlaps. Hits are those of the best policy that "
                 "an engine can have. Keys, values and activations need memory besides.",
             "note");
}

}  // namespace

// Says in words how much memory is worth buying: the point behind which more brings little.
std::string knee_sentence(const Card& card, const std::vector<SpeedPoint>& points) {
  if (points.empty()) return card.name + ": the model does not fit with one expert of each layer.";
  const auto at = [&](const SpeedPoint& point) {
    return fixed(point.bytes / 1e9, 1) + " GB bring " + fixed(point.tokens_per_second, 1) + " tokens/s";
  };
  const auto knee = knee_of(points);
  if (!knee) return card.name + ": every gigabyte pays; " + at(points.front()) + ", " + at(points.back()) + ".";
  if (*knee + 1 == points.size()) return card.name + ": " + at(points.back()) + ".";
  return card.name + ": the knee is at " + fixed(points[*knee].bytes / 1e9, 1) + " GB; " + at(points[*knee]) + ", " +
         at(points.back()) + ".";
}

// Sections stand in the order of questions: how often, which, how soon again, and what that means for time.
std::string replay_page(const ReplayPage& page) {
  const RoutingTrace& trace = page.trace.routing.trace;
  const std::vector<double> budgets = budgets_of_curve(trace.experts);
  const std::vector<ChartLine> curves = hit_curves(page, budgets);
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Caches of experts</title>"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>" +
      std::string(kPageStyle) + "</style></head><body>\n<h1>Caches of experts</h1>\n";
  html += in_words((trace.model.empty() ? page.trace.path : trace.model) + ": " + std::to_string(trace.tokens.size()) +
                   " tokens, " + std::to_string(trace.layers.size()) + " layers of " + std::to_string(trace.experts) +
                   " experts, " + std::to_string(trace.used) + " of a token.");
  for (const std::string& note : page.trace.routing.notes) html += in_words(note, "note");
  html += hits_section(page, curves) + heat_section(page) + reuse_section(page) + window_section(page);
  return html + lanes_section(page) + speed_section(page, curves, budgets) + "</body></html>\n";
}

}  // namespace tandem::app
