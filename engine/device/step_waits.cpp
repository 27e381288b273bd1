#include "engine/device/step_waits.h"

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
  // Threads that raise the flag or let it fail wake this one. A kernel cannot, which has no system calls, nor can
  // close(), which does not know the flag: for them the thread looks by itself when it has nothing left but to sleep,
  // after this slice and after the millisecond that the waiter adds. A look takes microseconds of the thread's own
  // core, and begins only behind 12 ms of spinning and yielding (20 us with `event`), so that on two cores neither a
  // longer slice would give the other one anything, nor a shorter one be noticed in waits of that length.
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

Error did_not_finish(std::chrono::milliseconds deadline, const std::string& object) {
  return Error("the device did not finish within " + std::to_string(deadline.count()) + " ms", object,
               "A step may wait for a flag that nobody raises, or there is more to do than that");
}

}  // namespace tandem
