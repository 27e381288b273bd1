#include "engine/app/commands/sync/sync_charts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "engine/app/commands/sync/bench_sync_text.h"
#include "engine/app/commands/sync/svg.h"

namespace tandem::app {
namespace {

using namespace sync_lab;

constexpr double kWidth = 720, kLeft = 84, kRight = 40, kTop = 16, kBottom = 52;

// Rows to draw: measured, and without crowded cores. Crowded rows answer another question and would stretch the axes.
std::vector<const SyncRow*> measured(const DeviceResult& device) {
  std::vector<const SyncRow*> rows;
  for (const SyncRow& row : device.rows) {
    if (row.status == RowStatus::measured && row.spinners == 0) rows.push_back(&row);
  }
  return rows;
}

std::vector<const SyncRow*> measured(const DeviceResult& device, double work_seconds) {
  std::vector<const SyncRow*> rows = measured(device);
  std::erase_if(rows, [&](const SyncRow* row) { return row->work_seconds != work_seconds; });
  return rows;
}

// A time in whole units, without trailing zeros: "10 µs". Decades lie at 1, 10 and 100 of a unit. The bounds 0.9 keep 1
// ms and 1 µs in their unit although powers of ten are not exact.
std::string label_of(double seconds) {
  if (seconds >= 1) return std::to_string(static_cast<int>(seconds)) + " s";
  const auto digits = [](double value) {
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
  };
  if (seconds > 0.9e-3) return digits(std::round(seconds * 1e3)) + " ms";
  if (seconds > 0.9e-6) return digits(std::round(seconds * 1e6)) + " µs";
  return digits(std::round(seconds * 1e9)) + " ns";
}

// Lines and labels stand at whole decades, so equal distances are equal ratios.
void vertical_grid(SvgDrawing& drawing, const LogAxis& axis, double top, double bottom, std::string_view title) {
  for (const double value : axis.decades()) {
    const double x = axis.at(value);
    drawing.line(x, top, x, bottom, "grid");
    drawing.text(x, bottom + 18, label_of(value), TextAnchor::middle, "tick");
  }
  drawing.text((kLeft + kWidth - kRight) / 2, bottom + 40, title, TextAnchor::middle, "axis");
}

void horizontal_grid(SvgDrawing& drawing, const LogAxis& axis, double left, double right, std::string_view title) {
  const double middle = (axis.at(axis.low()) + axis.at(axis.high())) / 2;
  for (const double value : axis.decades()) {
    const double y = axis.at(value);
    drawing.line(left, y, right, y, "grid");
    drawing.text(left - 8, y + 4, label_of(value), TextAnchor::end, "tick");
  }
  drawing.turned_text(16, middle, title, "axis");
}

// The text appears when a pointer rests on a dot.
std::string told(const SyncRow& row) {
  return name_of(row) + ", " + work_name(row.work_seconds) + ": median " + microseconds(row.round_trip.p50) +
         " us, beyond the work " + microseconds(row.overhead.p50) + " us, processor time " +
         microseconds(row.cpu_thread_seconds) + " us";
}

// Labels beside points, moved apart so that they do not overlap. The method is greedy. It takes the labels from top to
// bottom. Each one moves down past the labels above it that are near.
class Labels {
 public:
  void add(double x, double y, std::string words, std::string css_class) {
    all_.push_back({x, y, std::move(words), std::move(css_class)});
  }
  void draw(SvgDrawing& drawing) {
    constexpr double kApart = 15, kNear = 130;
    std::ranges::sort(all_, {}, &Label::y);
    for (size_t i = 0; i < all_.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        // Labels are sorted by y, so moving one down keeps the order.
        if (std::abs(all_[i].x - all_[j].x) < kNear && all_[i].y - all_[j].y < kApart) all_[i].y = all_[j].y + kApart;
      }
      const bool to_the_left = all_[i].x > kWidth - kRight - 70;
      drawing.text(all_[i].x + (to_the_left ? -10 : 10), all_[i].y + 4, all_[i].words,
                   to_the_left ? TextAnchor::end : TextAnchor::start, all_[i].css_class);
    }
  }

 private:
  struct Label {
    double x, y;
    std::string words, css_class;
  };
  std::vector<Label> all_;
};

}  // namespace

std::string policy_class(sync::Policy policy) { return "policy-" + name_of(policy); }

// Distances are ratios, so they are compared on a logarithmic scale. An empty step has length 0, whose logarithm does
// not exist. A nanosecond is added to all lengths.
double telling_work(const DeviceResult& device) {
  constexpr double kWanted = 1e-3;
  double best = 0, distance = -1;
  for (const SyncRow* row : measured(device)) {
    const double away = std::abs(std::log((row->work_seconds + 1e-9) / kWanted));
    if (distance >= 0 && away >= distance) continue;
    distance = away;
    best = row->work_seconds;
  }
  return best;
}

// One row per policy: a line from the least to the 99th percentile, a box up to the 90th, a dot at the median. The
// shortest steps are drawn, because with longer ones the work hides the cost of waiting. The limit takes part in the
// choice of the axis, so its rule is always inside the chart.
std::string latency_chart(const DeviceResult& device) {
  const std::vector<const SyncRow*> all = measured(device);
  if (all.empty()) return "";
  const double shortest =
      (*std::ranges::min_element(all, {}, [](const SyncRow* row) { return row->work_seconds; }))->work_seconds;
  const std::vector<const SyncRow*> rows = measured(device, shortest);
  constexpr double kRowHeight = 40;
  const double bottom = kTop + 14 + kRowHeight * static_cast<double>(rows.size());
  std::vector<double> values;
  const double limit = device.limit ? device.limit->round_trip.middle : device.bus ? device.bus->round_trip.middle : 0;
  for (const SyncRow* row : rows) values.insert(values.end(), {row->round_trip.min, row->round_trip.p99});
  if (limit > 0) values.push_back(limit);
  const LogAxis x = LogAxis::around(values, kLeft, kWidth - kRight);
  SvgDrawing drawing(kWidth, bottom + kBottom, "Round trips of " + work_name(shortest) + " steps on " + device.id);
  vertical_grid(drawing, x, kTop + 14, bottom, "round trip of a step, " + work_name(shortest) + " work (log scale)");
  if (limit > 0) {
    drawing.line(x.at(limit), kTop + 4, x.at(limit), bottom, "limit");
    drawing.text(x.at(limit) + 5, kTop + 8,
                 (device.limit ? "cache line" : "bus") + (", there and back: " + microseconds(limit)) + " µs",
                 TextAnchor::start, "limit-label");
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const SyncRow& row = *rows[i];
    const double y = kTop + 14 + kRowHeight * (static_cast<double>(i) + 0.5);
    const std::string colour = policy_class(row.policy);
    drawing.text(kLeft - 10, y + 4, name_of(row), TextAnchor::end, "name");
    drawing.line(x.at(row.round_trip.min), y, x.at(row.round_trip.p99), y, colour + " span");
    drawing.bar(x.at(row.round_trip.min), y - 6, x.at(row.round_trip.p90) - x.at(row.round_trip.min), 12,
                colour + " box");
    drawing.dot(x.at(row.round_trip.p50), y, 6, colour + " dot", told(row));
    drawing.text(x.at(row.round_trip.p50), y - 10, microseconds(row.round_trip.p50) + " µs", TextAnchor::middle,
                 "value");
  }
  return std::move(drawing).finish();
}

// Processor times below 0.1 us are drawn at 0.1 us. A policy that blocks burns next to nothing, and zero has no place
// on a logarithmic axis.
std::string cpu_chart(const DeviceResult& device, double work_seconds) {
  const std::vector<const SyncRow*> rows = measured(device, work_seconds);
  if (rows.empty()) return "";
  constexpr double kHeight = 320;
  const double bottom = kHeight - kBottom;
  std::vector<double> added, burnt;
  for (const SyncRow* row : rows) {
    added.push_back(row->overhead.p50);
    burnt.push_back(std::max(row->cpu_thread_seconds, 1e-7));
  }
  const LogAxis x = LogAxis::around(added, kLeft, kWidth - kRight), y = LogAxis::around(burnt, bottom, kTop);
  SvgDrawing drawing(kWidth, kHeight,
                     "Processor time against latency on " + device.id + ", steps of " + work_name(work_seconds));
  vertical_grid(drawing, x, kTop, bottom, "what waiting adds to a step of " + work_name(work_seconds) + ", median");
  horizontal_grid(drawing, y, kLeft, kWidth - kRight, "processor time of the waiter");
  Labels labels;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double at_x = x.at(added[i]), at_y = y.at(burnt[i]);
    drawing.dot(at_x, at_y, 6, policy_class(rows[i]->policy) + " dot", told(*rows[i]));
    labels.add(at_x, at_y, name_of(*rows[i]), "name");
  }
  labels.draw(drawing);
  return std::move(drawing).finish();
}

// Lengths of work are evenly spaced, as one of them may be zero. Each policy is a line through its medians. A launch
// through the driver is no policy, so its rows form a line of their own. Labels stand at the right ends of the lines,
// where room is left for them.
std::string overhead_chart(const DeviceResult& device) {
  const std::vector<const SyncRow*> rows = measured(device);
  if (rows.empty()) return "";
  constexpr double kHeight = 340, kForLabels = 80;
  const double bottom = kHeight - kBottom, right = kWidth - kRight - kForLabels;
  std::vector<double> lengths, added;
  std::map<std::pair<sync::Policy, bool>, std::vector<const SyncRow*>> by_policy;  // true: a launch, not a policy
  for (const SyncRow* row : rows) {
    lengths.push_back(row->work_seconds);
    added.push_back(row->overhead.p50);
    by_policy[{row->policy, row->launched}].push_back(row);
  }
  std::ranges::sort(lengths);
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  const LogAxis y = LogAxis::around(added, bottom, kTop);
  const auto x = [&](double length) {
    const auto place = static_cast<double>(std::ranges::find(lengths, length) - lengths.begin());
    const double places = std::max<double>(1, static_cast<double>(lengths.size()) - 1);
    return kLeft + 30 + place / places * (right - kLeft - 30);
  };
  SvgDrawing drawing(kWidth, kHeight, "What waiting adds, by the length of the step, on " + device.id);
  horizontal_grid(drawing, y, kLeft, right + 20, "added by waiting, median");
  for (const double length : lengths) {
    drawing.line(x(length), kTop, x(length), bottom, "grid");
    drawing.text(x(length), bottom + 18, work_name(length), TextAnchor::middle, "tick");
  }
  drawing.text((kLeft + right) / 2, bottom + 40, "work of a step", TextAnchor::middle, "axis");
  Labels labels;
  for (const auto& [which, points] : by_policy) {
    const sync::Policy policy = which.first;
    std::vector<std::pair<double, double>> corners;
    for (const SyncRow* row : points) corners.emplace_back(x(row->work_seconds), y.at(row->overhead.p50));
    drawing.path(corners, policy_class(policy) + " series");
    for (size_t i = 0; i < points.size(); ++i)
      drawing.dot(corners[i].first, corners[i].second, 4.5, policy_class(policy) + " dot", told(*points[i]));
    labels.add(corners.back().first, corners.back().second, name_of(*points.front()), "name");
  }
  labels.draw(drawing);
  return std::move(drawing).finish();
}

}  // namespace tandem::app
