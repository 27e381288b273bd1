// The pictures of the page of `tandem replay-moe --html`, as SVG.
//
// Contract: pure functions of plain values; a picture without data is "". Colours are classes of the page's style. All
// pictures are 420 units wide, so that their text can be read on a phone.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tandem::app {

std::string short_number(double value);  // three digits, or all before the point
// 0 and up to five multiples of 1, 2 or 5 times a power of ten, none above `most`.
std::vector<double> round_ticks(double most);

// A line of a chart: points from left to right. css_class: its colour, and dashes if it is no policy.
struct ChartLine {
  std::string name, css_class;
  std::vector<std::pair<double, double>> points;
};
struct ChartFrame {
  std::string title, across, up;  // title: for screen readers; the others name the axes
  double from = 0, to = 100, least = 0, most = 100;
  bool doubles = false;  // ticks across double from 1 on, at equal distances
  std::vector<double> across_ticks{}, up_ticks{};
};
std::string line_chart(const ChartFrame& frame, const std::vector<ChartLine>& lines);

// Rows of layers by columns of experts. uses: [layers][E]. An even use has the middle colour.
std::string heat_map(const std::vector<int64_t>& layers, const std::vector<std::vector<int64_t>>& uses);

// Bars side by side, each with a label and a share from 0 to 1.
std::string bar_chart(const std::string& title, const std::vector<std::pair<std::string, double>>& bars);

// The lanes (GPU, processor, link) over time: the timeline of a schedule, as a plain value.
struct LaneTask {
  std::string lane, label;  // label: what runs, such as an expert
  double begin = 0, end = 0;
};
struct LaneTimeline {
  std::string title;
  std::vector<LaneTask> tasks;
  double most = 0;                 // the end of the axis, so that several timelines compare; 0: the last end
  std::vector<std::string> lanes;  // from top to bottom; empty: those of the tasks, in their order
};
std::string lanes_chart(const LaneTimeline& timeline);

}  // namespace tandem::app
