// Reads a trace that --trace wrote.
#pragma once

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem::testing {

struct TraceSpan {
  std::string name;
  double start_us = 0, end_us = 0, flops = 0;
};

using Trace = std::map<std::string, std::vector<TraceSpan>>;  // by track, in the order of their starts

inline Trace read_trace(const std::string& path) {
  const auto events = nlohmann::json::parse(std::ifstream(path)).at("traceEvents");
  std::map<int, std::string> tracks;
  for (const auto& event : events) {
    if (event.at("ph") == "M" && event.at("name") == "thread_name")
      tracks[event.at("tid")] = event.at("args").at("name");
  }
  Trace trace;
  for (const auto& event : events) {
    if (event.at("ph") != "X") continue;
    const double start = event.at("ts"), length = event.at("dur");
    trace[tracks.at(event.at("tid"))].push_back(
        {event.at("name"), start, start + length, event.at("args").value("flops", 0.0)});
  }
  for (auto& [track, spans] : trace) std::ranges::sort(spans, {}, &TraceSpan::start_us);
  return trace;
}

inline double sum_us(const std::vector<TraceSpan>& spans) {
  double sum = 0;
  for (const TraceSpan& span : spans) sum += span.end_us - span.start_us;
  return sum;
}

// The largest overlap of two spans of one track.
inline double overlap_us(const std::vector<TraceSpan>& spans) {
  double most = 0, end = 0;
  for (const TraceSpan& span : spans) {
    most = std::max(most, end - span.start_us);
    end = std::max(end, span.end_us);
  }
  return most;
}

}  // namespace tandem::testing
