// What ran where and when: spans of every device, waits and host work, measured or modelled. Everything that reports
// time reads it.
//
// Contract: times are seconds of the steady clock; a span is either measured (wall clock) or modelled (a processor
// profile's clock), and says which. Not thread-safe: one thread adds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem {

// What a device's own time went to: waiting for others, an operator, or a step of several on a device that measures
// whole steps.
enum class SpanKind : uint8_t { none, wait, matmul, attention, other_operator, several };
inline constexpr const char* kSeveral = "several";  // what a report calls the last

struct Span {
  std::string track;  // "opencl:0", "npu:0", "waits", "npu:0 model clock"
  std::string name;   // the operator, or the step where the device measures whole steps
  double start_seconds = 0, end_seconds = 0;
  double bytes = 0, flops = 0, joules = 0;
  bool modelled = false;
  SpanKind kind = SpanKind::none;  // none: not a device's own time
  std::string what{};              // for reports, the operator's kind_name(), or kSeveral
  std::string device{};            // whose time it is; "": nobody's
  bool alone = false;              // launched by itself only because it was recorded (DeviceSpan::alone)
};

class Timeline {
 public:
  void add(Span span) { spans_.push_back(std::move(span)); }
  const std::vector<Span>& spans() const { return spans_; }
  // Seconds in which `track` was at work (spans of one track do not overlap).
  double busy_seconds(const std::string& track) const;
  // Chrome trace events, which Perfetto opens: one thread per track, times in microseconds from the first span. Written
  // whole or not at all.
  void write_trace(const std::string& path) const;
  std::string trace_json() const;

 private:
  std::vector<Span> spans_;
};

}  // namespace tandem
