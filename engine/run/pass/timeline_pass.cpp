#include "engine/run/pass/timeline_pass.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sync/error.h"

namespace tandem {
namespace {

// Adds one device's spans of a pass to the timeline.
class DevicePass {
 public:
  DevicePass(Timeline& timeline, const Plan& plan, std::string id, double start)
      : timeline_(timeline), plan_(plan), id_(std::move(id)), free_since_(start) {}

  // others: when the last of the steps ended that this step waits for.
  void add(const StepSpan& measured, double others) {
    const Step& step = plan_.steps[static_cast<size_t>(measured.step)];
    if (measured.step != step_) {
      add_wait(step, std::min(others, measured.start_seconds));
      operator_ = -2;
    }
    Span span{id_, step.name(), measured.start_seconds, measured.end_seconds};
    describe(step, measured.op, span);
    span.device = id_;
    span.alone = measured.alone;
    timeline_.add(std::move(span));
    step_ = measured.step;
    operator_ = measured.op;
    free_since_ = std::max(free_since_, measured.end_seconds);
  }

 private:
  // A wait lasts from the end of the device's last work until the awaited steps have ended. The time from there to the
  // step's start is no wait, and counts as idle.
  void add_wait(const Step& step, double until) {
    if (step.waits.empty() || until <= free_since_) return;
    Span wait{"waits of " + id_, "before " + step.name(), free_since_, until};
    wait.kind = SpanKind::wait;
    wait.device = id_;
    timeline_.add(std::move(wait));
    free_since_ = until;
  }

  // Sets name, kind, bytes and flops of a span: of one operator, or of the whole step (op < 0). Only an operator's
  // first span gets its bytes and flops.
  void describe(const Step& step, int op, Span& span) const {
    if (op < 0) {
      for (const Operator& each : step.operators) add_work(each, span);
      if (step.operators.size() == 1) return set_kind(step.operators.front(), span);
      span.kind = SpanKind::several;
      span.what = kSeveral;
      return;
    }
    const Operator& one = step.operators[static_cast<size_t>(op)];
    if (op != operator_) add_work(one, span);
    span.name = one.name;
    set_kind(one, span);
  }

  // The part of an attention that merges partial results reads no cache, so its time does not count as attention.
  static void set_kind(const Operator& op, Span& span) {
    const auto* attention = std::get_if<Attention>(&op.body);
    span.kind = std::holds_alternative<MatMul>(op.body)                ? SpanKind::matmul
                : attention && attention->part != AttentionPart::merge ? SpanKind::attention
                                                                       : SpanKind::other_operator;
    span.what = kind_name(op);
  }

  // Attention counts the positions that its buffer holds now, since a plan serves passes at many positions.
  static void add_work(const Operator& op, Span& span) {
    const Work w = work(op, past_in_memory(op));
    span.bytes += w.bytes;
    span.flops += w.flops;
  }

  Timeline& timeline_;
  const Plan& plan_;
  std::string id_;
  double free_since_;
  int step_ = -1, operator_ = -2;  // of the previous span; -2: none in this step
};

// When each step ended, by its last span; `otherwise` for steps that were not measured.
std::vector<double> step_ends(const Plan& plan, std::span<const std::vector<StepSpan>> measured, double otherwise) {
  std::vector<double> ends(plan.steps.size(), otherwise);
  for (const auto& spans : measured) {
    for (const StepSpan& span : spans) ends[static_cast<size_t>(span.step)] = span.end_seconds;
  }
  return ends;
}

}  // namespace

// Spans are made device by device, but waits need the ends of all devices' steps. So the ends are gathered first.
void add_pass(Timeline& timeline, const Plan& plan, std::span<const std::vector<StepSpan>> measured, double start,
              double end) {
  TANDEM_CHECK(measured.size() == plan.devices.size(), "spans of each of the plan's devices");
  // A step without a measured end may have kept other devices waiting until they began, so it counts as ending last.
  const std::vector<double> ends = step_ends(plan, measured, end);
  for (size_t d = 0; d < measured.size(); ++d) {
    DevicePass pass(timeline, plan, plan.devices[d], start);
    for (const StepSpan& span : measured[d]) {
      double others = start;
      for (int awaited : plan.steps[static_cast<size_t>(span.step)].waits)
        others = std::max(others, ends[static_cast<size_t>(awaited)]);
      pass.add(span, others);
    }
  }
  timeline.add({kPassTrack, plan.name, start, end});
}

// Fragments run one after another, so the pass lasts from the first one's start to the last one's end.
void join_passes(Timeline& timeline, size_t first) {
  const std::vector<Span> fragments = timeline.remove(kPassTrack, first);
  if (fragments.empty()) return;
  Span whole = fragments.front();
  whole.end_seconds = fragments.back().end_seconds;
  timeline.add(std::move(whole));
}

}  // namespace tandem
