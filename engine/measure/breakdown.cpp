#include "engine/measure/breakdown.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <span>

#include "engine/run/pass/timeline_pass.h"

namespace tandem {
namespace {

struct DeviceTimes {
  std::map<std::string, BreakdownLine> kinds;
  BreakdownLine waits, idle;
};
using Devices = std::map<std::string, DeviceTimes>;

void add_span(const Span& span, DeviceTimes& times) {
  BreakdownLine& line = span.kind == SpanKind::wait ? times.waits : times.kinds[span.what];
  line.seconds += span.end_seconds - span.start_seconds;
  line.bytes += span.bytes;
  line.flops += span.flops;
  ++line.launches;
}

// Seconds of the pass in which the device has no span: between its spans, before the first and after the last.
// Overlapping spans count once.
double gaps(std::vector<const Span*> spans, const Span& pass) {
  std::ranges::sort(spans, {}, &Span::start_seconds);
  double sum = 0, covered = pass.start_seconds;
  for (const Span* span : spans) {
    sum += std::max(0.0, span->start_seconds - covered);
    covered = std::max(covered, span->end_seconds);
  }
  return sum + std::max(0.0, pass.end_seconds - covered);
}

// Adds the spans of one pass to their devices' lines. Every device gets the gaps of this pass, one without spans
// the whole pass.
void add_pass_times(std::span<const Span> spans, const Span& pass, Devices& devices) {
  std::map<std::string, std::vector<const Span*>> of;
  for (const Span& span : spans) {
    if (span.modelled || span.device.empty()) continue;
    of[span.device].push_back(&span);
    add_span(span, devices[span.device]);
  }
  for (auto& [device, times] : devices) times.idle.seconds += gaps(of[device], pass);
}

// Moves a device's lines to the result: kinds by falling time, then waits, then idle time.
void add_lines(const std::string& device, DeviceTimes times, std::vector<BreakdownLine>& lines) {
  const size_t begin = lines.size();
  for (auto& [kind, line] : times.kinds) {
    line.what = kind;
    lines.push_back(std::move(line));
  }
  std::sort(lines.begin() + static_cast<std::ptrdiff_t>(begin), lines.end(),
            [](const BreakdownLine& a, const BreakdownLine& b) { return a.seconds > b.seconds; });
  times.waits.what = Breakdown::kWaits;
  times.idle.what = Breakdown::kIdle;
  lines.push_back(std::move(times.waits));
  lines.push_back(std::move(times.idle));
  for (size_t i = begin; i < lines.size(); ++i) lines[i].device = device;
}

// Every device of any pass, so that a pass without spans of a device counts as idle time there.
Devices all_devices(const std::vector<Span>& spans) {
  Devices devices;
  for (const Span& span : spans) {
    if (!span.modelled && !span.device.empty()) devices[span.device];
  }
  return devices;
}

}  // namespace

double Breakdown::sum_of(const std::string& device) const {
  double sum = 0;
  for (const BreakdownLine& line : lines) {
    if (line.device == device) sum += line.seconds;
  }
  return sum;
}

// Work, waits and idle time of a device must add up to the wall time. A sum above it means that spans overlap.
std::vector<std::string> Breakdown::complaints(double tolerance) const {
  std::vector<std::string> found;
  for (const BreakdownLine& line : lines) {
    if (line.what != kIdle) continue;  // each device has one idle line
    const double gap = sum_of(line.device) - wall_seconds;
    if (std::abs(gap) <= tolerance * wall_seconds) continue;
    char text[160];
    std::snprintf(text, sizeof(text), "the lines of %s add up to %.3f ms, %.3f ms %s than the wall clock of %.3f ms",
                  line.device.c_str(), (wall_seconds + gap) * 1e3, std::abs(gap) * 1e3, gap > 0 ? "more" : "less",
                  wall_seconds * 1e3);
    found.emplace_back(text);
  }
  return found;
}

// A pass's own span comes after the spans of its operators, so the spans since the last pass belong to it.
Breakdown break_down(const Timeline& timeline) {
  const std::vector<Span>& spans = timeline.spans();
  Breakdown result;
  Devices devices = all_devices(spans);
  size_t first = 0;
  for (size_t i = 0; i < spans.size(); ++i) {
    result.alone |= spans[i].alone;
    if (spans[i].track != kPassTrack) continue;
    add_pass_times(std::span(spans).subspan(first, i - first), spans[i], devices);
    result.wall_seconds += spans[i].end_seconds - spans[i].start_seconds;
    ++result.passes;
    first = i + 1;
  }
  for (auto& [device, times] : devices) add_lines(device, std::move(times), result.lines);
  return result;
}

}  // namespace tandem
