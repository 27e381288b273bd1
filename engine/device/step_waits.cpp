#include "engine/device/step_waits.h"

namespace tandem {

StepWaits::StepWaits(const std::string& device, sync::Policy policy, std::chrono::milliseconds deadline,
                     bool shares_core)
    : device_(device),
      raiser_("that raises it (" + device + " waits)"),
      deadline_(deadline),
      shares_core_(shares_core),
      waiter_(sync::make_waiter(policy)) {}

// The predictor observes the sum of a step's waits. The prediction for each flag is what remains of this sum after the
// waits before it.
void StepWaits::wait(std::string_view step, std::span<const sync::WaitFor> waits, uint32_t base,
                     sync::DurationPredictor& predictor) {
  if (waits.empty()) return;
  // A thread that raises the flag, or fails it, wakes this one. A kernel cannot, because it makes no system calls.
  // Neither can close(), because it does not know the flag. For these two, the thread looks by itself when it would
  // otherwise only sleep: after this slice and the millisecond that the waiter adds. A look takes microseconds of the
  // thread's own core. Looks begin only after 12 ms of spinning and yielding (20 us with `event`). So, on two cores, a
  // longer slice gives nothing to the other core, and a shorter slice would not be noticed in such waits.
  constexpr std::chrono::microseconds kSlice{100};
  double waited = 0;
  bool overslept = false;
  for (const sync::WaitFor& wait : waits) {
    const uint32_t epoch = wait.epoch + base;
    sync::WaitContext context;
    context.step = step;
    context.device = raiser_;
    context.deadline = deadline_;
    context.shares_core = shares_core_;
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

Error did_not_finish(std::chrono::milliseconds deadline, const std::string& object) {
  return Error("the device did not finish within " + std::to_string(deadline.count()) + " ms", object,
               "A step may wait for a flag that nobody raises, or there is more to do than that");
}

}  // namespace tandem
