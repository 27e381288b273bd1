// What ran where and when: spans of every device, of waits and of host work, measured or modelled. Everything that
// reports time reads it.
//
// Contract: times are seconds of the steady clock. A span says whether it is measured (wall clock) or modelled (clock
// of a processor's profile). Not thread-safe: one thread adds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace tandem {

// The use of a span of device time. several: a step of several operators, on a device that measures whole steps.
enum class SpanKind : uint8_t { none, wait, matmul, attention, other_operator, several };
inline constexpr const char* kSeveral = "several";  // the name of that kind in reports
// The colour of a kind in pictures: "wait", "matmul", "attention" or "other".
const char* class_of(SpanKind kind);

struct Span {
  std::string track;  // "opencl:0", "waits of npu:0", "npu:0 (model clock)", "orchestrator"
  std::string name;   // the operator, or the step if the device measures whole steps
  double start_seconds = 0, end_seconds = 0;
  double bytes = 0, flops = 0, joules = 0;
  bool modelled = false;
  SpanKind kind = SpanKind::none;  // none: not the time of a device
  std::string what{};              // for reports: the operator's kind_name(), or kSeveral
  std::string device{};            // the device whose time it is; "": none
  bool alone = false;              // launched by itself only because it was recorded (DeviceSpan::alone)
};

class Timeline {
 public:
  // most: so many spans are kept at most, and at least the last half of so many.
  explicit Timeline(size_t most = std::numeric_limits<size_t>::max()) : most_(most) {}
  void add(Span span);
  const std::vector<Span>& spans() const { return spans_; }  // those that are kept
  size_t dropped() const { return dropped_; }                // earlier spans, which are not kept
  size_t count() const { return dropped_ + spans_.size(); }  // of all spans so far
  // The spans that were added when there were `first` already, without dropped ones. Valid until the next change.
  std::span<const Span> since(size_t first) const;
  // Removes the spans of `track` from these, and returns them.
  std::vector<Span> remove(const std::string& track, size_t first);
  // Sum of the lengths of the spans of `track`, in seconds. Spans of one track do not overlap.
  double busy_seconds(const std::string& track) const;
  // Writes Chrome trace events, which Perfetto opens. Each track is a thread there, and times are microseconds from the
  // first span. The file is written whole or not at all.
  void write_trace(const std::string& path) const;
  std::string trace_json() const;

 private:
  size_t place_of(size_t first) const { return first > dropped_ ? first - dropped_ : 0; }
  size_t most_;
  size_t dropped_ = 0;
  std::vector<Span> spans_;
};

}  // namespace tandem
