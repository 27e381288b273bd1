#include "engine/run/pass/timeline.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "sync/output_file.h"

namespace tandem {

// Kinds of operators without a class of their own share one.
const char* class_of(SpanKind kind) {
  switch (kind) {
    case SpanKind::wait:
      return "wait";
    case SpanKind::matmul:
      return "matmul";
    case SpanKind::attention:
      return "attention";
    default:
      return "other";
  }
}

// Half of the spans go at a time, so that each span moves at most once.
void Timeline::add(Span span) {
  if (spans_.size() >= most_) {
    const size_t half = (spans_.size() + 1) / 2;
    spans_.erase(spans_.begin(), spans_.begin() + static_cast<std::ptrdiff_t>(half));
    dropped_ += half;
  }
  spans_.push_back(std::move(span));
}

std::span<const Span> Timeline::since(size_t first) const { return std::span(spans_).subspan(place_of(first)); }

double Timeline::busy_seconds(const std::string& track) const {
  double sum = 0;
  for (const Span& span : spans_) {
    if (span.track == track) sum += span.end_seconds - span.start_seconds;
  }
  return sum;
}

// A stable partition keeps the order of both the removed spans and those that stay.
std::vector<Span> Timeline::remove(const std::string& track, size_t first) {
  const auto begin = spans_.begin() + static_cast<std::ptrdiff_t>(place_of(first));
  const auto removed =
      std::stable_partition(begin, spans_.end(), [&](const Span& span) { return span.track != track; });
  std::vector<Span> spans(std::make_move_iterator(removed), std::make_move_iterator(spans_.end()));
  spans_.erase(removed, spans_.end());
  return spans;
}

// Each track gets a thread number and a name when its first span comes. "M" events are names, and "X" events are spans.
// Events become text one by one, because a document of all of them is several times as large.
std::string Timeline::trace_json() const {
  using nlohmann::json;
  double origin = spans_.empty() ? 0 : spans_.front().start_seconds;
  for (const Span& span : spans_) origin = std::min(origin, span.start_seconds);
  std::map<std::string, int> threads;
  std::string text = R"({"displayTimeUnit":"ms","traceEvents":[)";
  text += json{{"ph", "M"}, {"pid", 1}, {"name", "process_name"}, {"args", {{"name", "tandem"}}}}.dump();
  for (const Span& span : spans_) {
    const auto [thread, is_new] = threads.emplace(span.track, static_cast<int>(threads.size()) + 1);
    if (is_new) {
      text += "," + json{{"ph", "M"},
                         {"pid", 1},
                         {"tid", thread->second},
                         {"name", "thread_name"},
                         {"args", {{"name", span.track}}}}
                        .dump();
    }
    json args = {{"clock", span.modelled ? "modelled" : "measured"}};
    if (span.bytes > 0) args["bytes"] = span.bytes;
    if (span.flops > 0) args["flops"] = span.flops;
    if (span.joules > 0) args["joules"] = span.joules;
    text += "," + json{{"ph", "X"},
                       {"pid", 1},
                       {"tid", thread->second},
                       {"name", span.name},
                       {"cat", span.modelled ? "modelled" : "measured"},
                       {"ts", (span.start_seconds - origin) * 1e6},
                       {"dur", (span.end_seconds - span.start_seconds) * 1e6},
                       {"args", std::move(args)}}
                      .dump();
  }
  return text + "]}";
}

void Timeline::write_trace(const std::string& path) const { write_output(path, trace_json()); }

}  // namespace tandem
