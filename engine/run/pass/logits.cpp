#include "engine/run/pass/logits.h"

#include <algorithm>

#include "sync/error.h"

namespace tandem {
namespace {

// A caller that holds one result while it asks for the next needs two, and one more for the pass behind it.
constexpr size_t kMostBuffers = 3;

}  // namespace

size_t LogitsBuffers::next() {
  before_overwriting();
  const auto free =
      std::ranges::find_if(activations_.logits, [](const Operand& each) { return !each.slot->is_kept(); });
  TANDEM_CHECK(free != activations_.logits.end(), "all buffers of logits are kept");
  return static_cast<size_t>(free - activations_.logits.begin());
}

Logits LogitsBuffers::lend(size_t buffer, size_t values) {
  before_overwriting();
  Logits logits;
  logits.state_ = std::make_shared<Logits::State>();
  logits.state_->values = {activations_.logits.at(buffer).as<float>(), values};
  lent_ = logits.state_;
  lent_from_ = buffer;
  return logits;
}

// The buffers know the last pass's logits only by a weak reference. If nobody refers to them, there is nothing to copy.
void LogitsBuffers::before_overwriting() {
  if (const std::shared_ptr<Logits::State> state = lent_.lock()) {
    state->copy.assign(state->values.begin(), state->values.end());
    state->values = state->copy;
  }
  lent_.reset();
}

// A buffer is made now, because the next pass must not fail for want of it.
bool LogitsBuffers::has_free_beside(size_t buffer) {
  for (size_t i = 0; i < activations_.logits.size(); ++i)
    if (i != buffer && !activations_.logits[i].slot->is_kept()) return true;
  if (activations_.logits.size() == kMostBuffers) return false;
  try {
    activations_.add_logits();
  } catch (const Error&) {  // no memory: the caller gets a copy
    return false;
  }
  return true;
}

bool LogitsBuffers::keep_in_place(const Logits& logits) {
  if (!logits.state_ || logits.state_->memory) return true;
  if (!logits.state_->copy.empty()) return false;
  TANDEM_CHECK(lent_.lock() == logits.state_, "these are not the logits of this engine's last pass");
  if (!has_free_beside(lent_from_)) {
    before_overwriting();
    return false;
  }
  logits.state_->memory = activations_.logits[lent_from_].slot->keep();
  lent_.reset();
  return true;
}

}  // namespace tandem
