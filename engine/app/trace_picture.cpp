#include "engine/app/trace_picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <vector>

#include "engine/app/commands/sync/svg.h"
#include "engine/model/layer_names.h"
#include "engine/run/pass/timeline_pass.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

constexpr double kPictureWidth = 960, kPictureLeft = 84, kPictureRight = 944;
constexpr double kRow = 30, kBar = 20, kWaitBar = 4;
constexpr double kStripTop = 34, kStripGap = 56;

constexpr const char* kPictureStyle =
    "<style>text{font:12px system-ui,sans-serif;fill:#1b2430}.quiet{fill:#5b6675}.axis{stroke:#8a94a3;stroke-width:1}"
    ".matmul{fill:#2f6fde}.attention{fill:#e08a1e}.other{fill:#4aa57a}.wait{fill:#c9ced6}"
    "@media(prefers-color-scheme:dark){text{fill:#e6e9ee}.quiet{fill:#a3adba}.wait{fill:#4a5360}}</style>\n";

struct Interval {
  double begin = 0, end = 0;
};

// Measured spans of the devices that reach into the interval, in the order of their starts.
std::vector<Span> spans_in(const Timeline& timeline, const Interval& within) {
  std::vector<Span> spans;
  for (const Span& span : timeline.spans()) {
    if (!span.modelled && !span.device.empty() && span.end_seconds > within.begin && span.start_seconds < within.end)
      spans.push_back(span);
  }
  std::ranges::stable_sort(spans, {}, &Span::start_seconds);
  return spans;
}

// Devices in falling order of their ids, which puts a GPU above the NPU and the host.
std::vector<std::string> devices_of(const std::vector<Span>& spans) {
  std::vector<std::string> devices;
  for (const Span& span : spans) {
    if (std::ranges::find(devices, span.device) == devices.end()) devices.push_back(span.device);
  }
  std::ranges::sort(devices, std::greater<>());  // "opencl:0", "npu:0", "host"
  return devices;
}

// The span of a whole pass comes last among its spans (engine/run/pass/timeline_pass.h), so the search begins at
// the end.
Interval last_pass(const Timeline& timeline) {
  for (auto span = timeline.spans().rbegin(); span != timeline.spans().rend(); ++span) {
    if (span->track == kPassTrack) return {span->start_seconds, span->end_seconds};
  }
  throw Error("nothing was recorded that could be drawn", "the picture of a pass", "Run at least one token");
}

// From the begin to the end of the two layers in the middle of the pass. Waits are left out, because a wait may begin
// long before the layer's own work.
Interval two_layers(const std::vector<Span>& spans) {
  int64_t layers = 0;
  for (const Span& span : spans) layers = std::max(layers, layer_of(span.name).value_or(-1) + 1);
  const int64_t first = std::max<int64_t>(layers / 2 - 1, 0);
  Interval both{std::numeric_limits<double>::infinity(), 0};
  for (const Span& span : spans) {
    const auto layer = layer_of(span.name);
    if (!layer || *layer < first || *layer > first + 1 || span.kind == SpanKind::wait) continue;
    both.begin = std::min(both.begin, span.start_seconds);
    both.end = std::max(both.end, span.end_seconds);
  }
  return both;
}

// 1, 2 or 5 times a power of ten, for about eight ticks. The power of ten is the largest one that is not above an
// eighth of the length.
double tick_of(double seconds) {
  const double rough = seconds / 8, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power >= rough) return step * power;
  }
  return 10 * power;
}

std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g ms", std::round(seconds * 1e6) / 1e3);
  return text;
}

// A row of bars for each device over one interval, with a title and a time axis. Time maps linearly from the interval
// to the picture's width. A bar that reaches beyond the interval is cut at its end. Waits are thin bars, so that the
// eye sees work first.
class Strip {
 public:
  Strip(SvgDrawing& drawing, const Interval& shown, const std::vector<std::string>& devices, double top)
      : drawing_(drawing), shown_(shown), devices_(devices), top_(top) {}

  void draw(const std::vector<Span>& spans, const std::string& title) {
    drawing_.text(kPictureLeft, top_ - 10, title, TextAnchor::start, "quiet");
    for (size_t d = 0; d < devices_.size(); ++d) {
      const double y = top_ + static_cast<double>(d) * kRow;
      drawing_.text(kPictureLeft - 8, y + kBar - 6, devices_[d], TextAnchor::end, "name");
      for (const Span& span : spans)
        if (span.device == devices_[d]) bar(span, y);
    }
    axis();
  }
  static double height(size_t devices) { return static_cast<double>(devices) * kRow + 22; }

 private:
  double x_of(double seconds) const {
    const double share = (seconds - shown_.begin) / (shown_.end - shown_.begin);
    return kPictureLeft + std::clamp(share, 0.0, 1.0) * (kPictureRight - kPictureLeft);
  }
  void bar(const Span& span, double y) {
    const double from = x_of(span.start_seconds), to = x_of(span.end_seconds);
    const double height = span.kind == SpanKind::wait ? kWaitBar : kBar;
    // Narrower bars cannot be seen, but a long pass may have thousands of them.
    if (to - from >= 0.05)
      drawing_.block(from, y + (kBar - height) / 2, to - from, height, class_of(span.kind), span.name);
  }
  void axis() {
    const double y = top_ + static_cast<double>(devices_.size()) * kRow, tick = tick_of(shown_.end - shown_.begin);
    drawing_.line(kPictureLeft, y, kPictureRight, y, "axis");
    // The factor keeps the last tick, whose place may lie slightly beyond the end by rounding.
    for (double at = 0; at <= (shown_.end - shown_.begin) * 1.0001; at += tick) {
      const double x = x_of(shown_.begin + at);
      drawing_.line(x, y, x, y + 4, "axis");
      drawing_.text(x, y + 17, milliseconds(at), TextAnchor::middle, "quiet");
    }
  }

  SvgDrawing& drawing_;
  const Interval shown_;
  const std::vector<std::string>& devices_;
  const double top_;
};

// SVG does not lay out text. So each entry states the width that its words need.
void draw_legend(SvgDrawing& drawing, double y) {
  struct Entry {
    const char *css_class, *words;
    double width;
  };
  constexpr Entry kEntries[] = {{"matmul", "matrix product", 150},
                                {"attention", "attention", 120},
                                {"other", "norm, rotation, activation, cache", 260},
                                {"wait", "waits for another device", 0}};
  double x = kPictureLeft;
  for (const Entry& entry : kEntries) {
    drawing.block(x, y, 12, 12, entry.css_class, entry.words);
    drawing.text(x + 18, y + 10, entry.words, TextAnchor::start, "quiet");
    x += entry.width;
  }
}

}  // namespace

// The second strip is left out if the two layers would fill more than half of the first one. The picture's height
// follows from the number of devices and of strips. So all places are computed before anything is drawn.
std::string trace_picture(const Timeline& timeline) {
  const Interval pass = last_pass(timeline);
  const std::vector<Span> spans = spans_in(timeline, pass);
  if (spans.empty()) throw Error("no device measured its time", "the picture of a pass", "See `tandem devices`");
  const std::vector<std::string> devices = devices_of(spans);
  const Interval layers = two_layers(spans);
  const bool enlarges = layers.end - layers.begin < 0.5 * (pass.end - pass.begin) && layers.end > layers.begin;
  const double strip = Strip::height(devices.size()), second = kStripTop + strip + kStripGap;
  const double legend = (enlarges ? second + strip : kStripTop + strip) + 18;
  SvgDrawing drawing(kPictureWidth, legend + 24,
                     "What each processor did during one pass, " + milliseconds(pass.end - pass.begin), kPictureStyle);
  Strip(drawing, pass, devices, kStripTop).draw(spans, "the whole pass");
  if (enlarges) Strip(drawing, layers, devices, second).draw(spans_in(timeline, layers), "two of its layers, enlarged");
  draw_legend(drawing, legend);
  return std::move(drawing).finish();
}

}  // namespace tandem::app
