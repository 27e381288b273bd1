#include "engine/device/opencl/event_wait.h"

#include <sched.h>

#include <thread>

#include "engine/device/step_waits.h"
#include "sync/clock.h"
#include "sync/deadline.h"

namespace tandem::opencl {

// The report's second time is the part in which the core was polled. A negative state is the error code of the event's
// command. The state is read before the deadline is checked, so a late wait still finds an event that has ended.
sync::WaitReport wait_for_event(const cl::Event& event, std::chrono::milliseconds deadline, const std::string& object) {
  constexpr std::chrono::microseconds kPolled{500}, kBetweenLooks{50};
  const auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
  const auto begin = Clock::now();
  sync::Deadline end(deadline);
  double polled = 0;
  for (;;) {
    cl_int status = CL_QUEUED;
    check(clGetEventInfo(event(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr), "clGetEventInfo",
          object);
    if (status < 0) throw Error("the queue ended with " + code_name(status), object);
    const auto waited = Clock::now() - begin;
    if (waited < kPolled) polled = seconds(waited);
    if (status == CL_COMPLETE) return {seconds(waited), polled};
    if (end.passed()) throw did_not_finish(deadline, object);
    if (waited < kPolled) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }
}

}  // namespace tandem::opencl
