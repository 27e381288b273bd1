#include "engine/device/step_waits.h"

#include "sync/error.h"

namespace tandem {

StepWaits::StepWaits(const std::string& device, sync::Policy policy, std::chrono::milliseconds deadline)
    : device_(device),
      raiser_("that raises it (" + device + " waits)"),
      deadline_(deadline),
      waiter_(sync::make_waiter(policy)) {}

// Each flag's wait is predicted from what all of them took the last times, less what those before it have taken.
void StepWaits::wait(std::string_view step, std::span<const sync::WaitFor> waits, uint32_t base,
                     sync::DurationPredictor& predictor) {
  if (waits.empty()) return;
  // Nobody wakes this thread when a kernel raises the flag, or when the device is closed, so it looks by itself.
  constexpr std::chrono::microseconds kSlice{100};
  double waited = 0;
  bool overslept = false;
  for (const sync::WaitFor& wait : waits) {
    const uint32_t epoch = wait.epoch + base;
    sync::WaitContext context;
    context.step = step;
    context.device = raiser_;
    context.deadline = deadline_;
    context.predicted_seconds = predictor.predict_after(waited);
    context.block = [&](std::chrono::milliseconds) {
      if (closed_) throw Error("the device was closed", "flag '" + wait.flag.name() + "', " + device_);
      wait.flag.sleep_until(epoch, kSlice);
    };
    const sync::WaitReport report = waiter_->wait(wait.flag, epoch, context);
    waited += report.seconds;
    overslept |= report.overslept;
  }
  overslept ? predictor.observe_overslept() : predictor.observe(waited);
}

}  // namespace tandem
