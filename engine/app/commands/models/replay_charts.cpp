// Charts of the page that `replay-moe --html` writes: lines, bars, a heat map and lanes, as SVG without a script.
// Colours come from the page's style sheet, so charts follow a dark screen.
#include "engine/app/commands/models/replay_charts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "engine/app/commands/sync/svg.h"

namespace tandem::app {
namespace {

constexpr double kChartWidth = 420, kChartLeft = 46, kChartRight = 18;

// The places of values on a chart's axes.
class ChartScale {
 public:
  ChartScale(const ChartFrame& frame, double height) : frame_(frame), bottom_(height - 38) {}

  double across(double value) const {
    const double from = frame_.doubles ? std::log2(std::max(1.0, frame_.from)) : frame_.from,
                 to = frame_.doubles ? std::log2(frame_.to) : frame_.to,
                 at = frame_.doubles ? std::log2(std::max(1.0, value)) : value;
    return kChartLeft + (kChartWidth - kChartLeft - kChartRight) * (to > from ? (at - from) / (to - from) : 0);
  }
  double up(double value) const {
    const double span = frame_.most - frame_.least;
    return bottom_ - (bottom_ - kTop) * (span > 0 ? (value - frame_.least) / span : 0);
  }
  double bottom() const { return bottom_; }
  static constexpr double kTop = 12;

 private:
  const ChartFrame& frame_;
  const double bottom_;
};

// Grid lines go across only, because all charts are read from left to right.
void draw_axes(SvgDrawing& drawing, const ChartFrame& frame, const ChartScale& scale) {
  for (const double tick : frame.up_ticks) {
    drawing.line(kChartLeft, scale.up(tick), kChartWidth - kChartRight, scale.up(tick), "grid");
    drawing.text(kChartLeft - 6, scale.up(tick) + 4, short_number(tick), TextAnchor::end, "tick");
  }
  for (const double tick : frame.across_ticks)
    drawing.text(scale.across(tick), scale.bottom() + 15, short_number(tick), TextAnchor::middle, "tick");
  drawing.text((kChartLeft + kChartWidth) / 2, scale.bottom() + 32, frame.across, TextAnchor::middle, "axis");
  drawing.turned_text(12, (ChartScale::kTop + scale.bottom()) / 2, frame.up, "axis");
}

}  // namespace

// At most three digits, which is what a reader takes from a chart.
std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, std::fabs(value) >= 100 ? "%.0f" : "%.3g", value);
  return text;
}

// Steps of 1, 2 or 5 times a power of ten, about five of them.
std::vector<double> round_ticks(double most) {
  std::vector<double> ticks{0};
  if (!(most > 0)) return ticks;
  const double power = std::pow(10, std::floor(std::log10(most / 5)));
  double step = 10 * power;
  for (const double times : {5.0, 2.0, 1.0})
    if (times * power * 5 >= most) step = times * power;
  for (int i = 1; i * step <= most * (1 + 1e-9); ++i) ticks.push_back(i * step);
  return ticks;
}

// Each point has a dot with a tooltip, so that values can be read without a table. The line of chance has none, since
// it is exact.
std::string line_chart(const ChartFrame& frame, const std::vector<ChartLine>& lines) {
  if (std::ranges::all_of(lines, [](const ChartLine& line) { return line.points.empty(); })) return "";
  constexpr double kHeight = 330;
  SvgDrawing drawing(kChartWidth, kHeight, frame.title);
  const ChartScale scale(frame, kHeight);
  draw_axes(drawing, frame, scale);
  for (const ChartLine& line : lines) {
    std::vector<std::pair<double, double>> path;
    for (const auto& [x, y] : line.points) path.emplace_back(scale.across(x), scale.up(y));
    drawing.path(path, "series " + line.css_class);
    if (line.css_class == "chance") continue;
    for (size_t i = 0; i < path.size(); ++i)
      drawing.dot(path[i].first, path[i].second, 2.5, "dot " + line.css_class,
                  line.name + ": " + short_number(line.points[i].second) + " at " + short_number(line.points[i].first));
  }
  return std::move(drawing).finish();
}

// Colours go by how often an expert is used beside an even use of all: a third of it for each of the nine steps.
std::string heat_map(const std::vector<int64_t>& layers, const std::vector<std::vector<int64_t>>& uses) {
  if (uses.empty() || uses.front().empty()) return "";
  const double width = (kChartWidth - kChartLeft - kChartRight) / static_cast<double>(uses.front().size()),
               height = std::clamp(240.0 / static_cast<double>(uses.size()), 5.0, 22.0),
               bottom = 8 + height * static_cast<double>(uses.size());
  SvgDrawing drawing(kChartWidth, bottom + 34, "How often each expert of each layer is used");
  const size_t named = 1 + static_cast<size_t>(12 / height);  // every so many layers have room for a number
  for (size_t l = 0; l < uses.size(); ++l) {
    const double y = 8 + height * static_cast<double>(l);
    if (l % named == 0)
      drawing.text(kChartLeft - 6, y + height / 2 + 4, std::to_string(layers[l]), TextAnchor::end, "tick");
    const auto sum = static_cast<double>(std::reduce(uses[l].begin(), uses[l].end()));
    for (size_t e = 0; e < uses[l].size(); ++e) {
      const double even = sum > 0 ? static_cast<double>(uses[l][e]) * static_cast<double>(uses[l].size()) / sum : 0;
      drawing.block(kChartLeft + width * static_cast<double>(e), y, width, height,
                    "heat heat" + std::to_string(std::min(9, static_cast<int>(std::lround(3 * even)))),
                    "layer " + std::to_string(layers[l]) + ", expert " + std::to_string(e) + ": " +
                        std::to_string(uses[l][e]) + " times, " + short_number(even) + " of an even use");
    }
  }
  drawing.text((kChartLeft + kChartWidth) / 2, bottom + 24, "expert", TextAnchor::middle, "axis");
  drawing.turned_text(12, (8 + bottom) / 2, "layer", "axis");
  return std::move(drawing).finish();
}

// Bars are scaled to the longest one, and each has its value in words behind it.
std::string bar_chart(const std::string& title, const std::vector<std::pair<std::string, double>>& bars) {
  if (bars.empty()) return "";
  constexpr double kLine = 22, kName = 96;
  double most = 0;
  for (const auto& [name, share] : bars) most = std::max(most, share);
  SvgDrawing drawing(kChartWidth, 8 + kLine * static_cast<double>(bars.size()), title);
  double y = 4;
  for (const auto& [name, share] : bars) {
    const double length = most > 0 ? share / most * (kChartWidth - kName - 60) : 0;
    drawing.text(kName - 6, y + 15, name, TextAnchor::end, "tick");
    drawing.bar(kName, y + 3, length, kLine - 6, "bar");
    drawing.text(kName + length + 6, y + 15, short_number(100 * share) + " %", TextAnchor::start, "tick");
    y += kLine;
  }
  return std::move(drawing).finish();
}

// Draws one row a lane and one block a task, to time. A label is drawn only where its block is wide enough.
std::string lanes_chart(const LaneTimeline& timeline) {
  if (timeline.tasks.empty()) return "";
  constexpr double kLane = 30, kName = 74;
  std::vector<std::string> lanes = timeline.lanes;
  double most = timeline.most;
  for (const LaneTask& task : timeline.tasks) {
    if (std::ranges::find(lanes, task.lane) == lanes.end()) lanes.push_back(task.lane);
    if (timeline.most == 0) most = std::max(most, task.end);
  }
  const double bottom = 6 + kLane * static_cast<double>(lanes.size());
  SvgDrawing drawing(kChartWidth, bottom + 22, timeline.title);
  const auto at = [&](double time) {
    return kName + (kChartWidth - kName - kChartRight) * (most > 0 ? time / most : 0);
  };
  for (size_t l = 0; l < lanes.size(); ++l)
    drawing.text(kName - 6, 6 + kLane * static_cast<double>(l) + 18, lanes[l], TextAnchor::end, "tick");
  for (const LaneTask& task : timeline.tasks) {
    const auto lane = static_cast<double>(std::ranges::find(lanes, task.lane) - lanes.begin());
    const double y = 6 + kLane * lane, width = at(task.end) - at(task.begin);
    drawing.block(at(task.begin), y + 3, width, kLane - 6, "task lane" + std::to_string(static_cast<int>(lane) % 4),
                  task.label + ": " + short_number(task.begin) + " to " + short_number(task.end));
    if (width > 8.0 * static_cast<double>(task.label.size()))
      drawing.text(at(task.begin) + width / 2, y + 19, task.label, TextAnchor::middle, "on-task");
  }
  for (const double tick : round_ticks(most))
    drawing.text(at(tick), bottom + 15, short_number(tick), TextAnchor::middle, "tick");
  return std::move(drawing).finish();
}

}  // namespace tandem::app
