#include "engine/run/serve/pass_watch.h"

#include <functional>
#include <numeric>
#include <utility>

#include "engine/run/machine/machine.h"

namespace tandem {

int64_t PassRecord::tokens() const {
  return std::transform_reduce(texts.begin(), texts.end(), int64_t{0}, std::plus<>(),
                               [](const Text& text) { return text.tokens; });
}

// If somebody records already, their timeline is used and kept, and only the new spans count.
StepRecorder::StepRecorder(Machine& machine, bool is_on) : machine_(machine) {
  if (!is_on) return;
  recorded_ = machine.executor().timeline();
  if (recorded_) {
    first_ = recorded_->count();
    return;
  }
  recorded_ = &own_;
  machine.record(&own_);
}

StepRecorder::~StepRecorder() {
  if (recorded_ == &own_) machine_.record(nullptr);
}

std::vector<Span> StepRecorder::take() {
  Timeline* const recorded = std::exchange(recorded_, nullptr);
  if (!recorded) return {};
  if (recorded == &own_) machine_.record(nullptr);
  const std::span<const Span> spans = recorded->since(first_);
  return {spans.begin(), spans.end()};
}

}  // namespace tandem
