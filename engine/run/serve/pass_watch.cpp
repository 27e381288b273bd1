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
    first_ = recorded_->spans().size();
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
  const std::vector<Span>& spans = recorded->spans();
  return {spans.begin() + static_cast<std::ptrdiff_t>(first_), spans.end()};
}

}  // namespace tandem
