#include "engine/device/opencl/gates.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sync/clock.h"
#include "sync/error.h"

namespace tandem::opencl {
namespace {

// Word 0 of the state line, as kernels/flags.cl writes it.
enum FailureCode : uint32_t { kNone = 0, kFlagFailed = 1, kTimeOut = 2, kCancelled = 3 };

constexpr uint32_t kOfList = 0x80000000;  // kernels/list.cl: the lower bits are a wait's number in its list

// The state line's first words have the layout of a flag line; its arrivals word is the serial number of the list that
// runs. Only sync/ knows atomics, so the line borrows the type of a flag line.
sync::FlagLine& line_of(const sync::Slot& state) { return *state.as<sync::FlagLine>(); }

// Arguments of both kernels, in kernels/gate.cl: 0 and 1 the flag, 2 the epoch, 3 and 4 the state line. The gate's are
// also 5, its serial number, and 6, its number of looks.
void set_gate_buffer(cl::Kernel& kernel, cl_uint index, const cl::Buffer& buffer, cl_ulong offset) {
  const cl_mem memory = buffer();
  set_arg(kernel, index, memory, "gate.cl");
  set_arg(kernel, index + 1, offset, "gate.cl");
}

void enqueue_single(const cl::CommandQueue& queue, const cl::Kernel& kernel, const std::string& object) {
  check(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1), cl::NDRange(1)), "clEnqueueNDRangeKernel",
        object);
}

}  // namespace

// Tries kernels with C11 atomics first. A compiler that lacks them builds the kernels with a fence and an atomic
// exchange; the self-test then shows whether these suffice.
Gates::Gates(ProgramCache& programs, SlotMemory& memory, sync::Pool& pool, bool c11_atomics)
    : memory_(memory),
      state_(pool.acquire(sizeof(sync::FlagLine), sync::SlotUse::flags, "gate state")),
      state_buffer_(memory.buffer(state_)),
      id_(programs.handle().id) {
  std::string& options = options_ = "-cl-std=CL3.0 -DC11_ATOMICS";
  orders_ = "C11 atomics, device scope";
  try {
    if (c11_atomics) gate_ = programs.kernel("gate", "gate", options);
  } catch (const Error&) {
    c11_atomics = false;  // an OpenCL C 1.2 compiler; orders() says what is used instead
  }
  if (!c11_atomics) {
    options.clear();
    orders_ = "fence and atomic exchange (no C11 atomics)";
    gate_ = programs.kernel("gate", "gate", options);
  }
  signal_ = programs.kernel("gate", "signal_flag", options);
  set_gate_buffer(gate_, 3, state_buffer_, 0);
  set_gate_buffer(signal_, 3, state_buffer_, 0);
}

// A kernel has no clock, so its bound is a number of looks. calibrate() has measured how long a look takes.
cl_ulong Gates::spins() const {
  const double seconds = std::chrono::duration<double>(bound_).count();
  return static_cast<cl_ulong>(std::max(1.0, seconds / look_seconds_));
}

// Takes the least time of a few rounds. A look that seems to take longer than it does would shorten every bound.
void Gates::calibrate(const cl::CommandQueue& queue) {
  constexpr cl_ulong kLooks = 1 << 16;
  constexpr int kRounds = 5;
  // The flag to wait for is the slot's second line: zeros, which no kernel raises.
  set_gate_buffer(gate_, 0, state_buffer_, sizeof(sync::FlagLine));
  set_arg(gate_, 2, cl_uint{1}, "gate.cl");
  set_arg(gate_, 5, cl_uint{0}, "gate.cl");
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round <= kRounds; ++round) {  // the first round compiles
    reset();
    set_arg(gate_, 6, round == 0 ? cl_ulong{1} : kLooks, "gate.cl");
    const auto begin = Clock::now();
    enqueue_single(queue, gate_, "gate calibration on " + id_);
    check(queue.finish(), "clFinish", "gate calibration on " + id_);
    const double seconds = seconds_since(begin);
    if (round > 0) least = std::min(least, seconds);
    if (line_of(state_).epoch.load(std::memory_order_acquire) != kTimeOut) {
      throw Error("a gate kernel did not report its time-out", id_);
    }
  }
  look_seconds_ = least / kLooks;
  reset();
}

// Serial numbers stay below kOfList, whose bit marks the waits of lists.
uint32_t Gates::remember(const sync::WaitFor& wait) {
  serial_ = (serial_ + 1) % kOfList;
  gates_[serial_ % kRemembered] = {&wait.flag.name(), wait.epoch};
  return serial_;
}

void Gates::remember(uint32_t serial, std::shared_ptr<const ProgramList> list, uint32_t base) {
  lists_[serial % kRememberedLists] = {serial, base, std::move(list)};
}

// One kernel object serves all gates. Enqueueing it copies its arguments, so gates in the queue keep theirs.
void Gates::enqueue_wait(const cl::CommandQueue& queue, const sync::WaitFor& wait) {
  remember(wait);
  set_gate_buffer(gate_, 0, memory_.buffer(wait.flag.slot()), wait.flag.offset_bytes());
  set_arg(gate_, 2, cl_uint{wait.epoch}, "gate.cl");
  set_arg(gate_, 5, cl_uint{serial_}, "gate.cl");
  set_arg(gate_, 6, spins(), "gate.cl");
  enqueue_single(queue, gate_, "gate for flag '" + wait.flag.name() + "' on " + id_);
}

void Gates::enqueue_signal(const cl::CommandQueue& queue, const sync::Signal& signal) {
  set_gate_buffer(signal_, 0, memory_.buffer(signal.flag.slot()), signal.flag.offset_bytes());
  set_arg(signal_, 2, cl_uint{signal.epoch}, "gate.cl");
  enqueue_single(queue, signal_, "signal of flag '" + signal.flag.name() + "' on " + id_);
}

bool Gates::poisoned() const { return line_of(state_).epoch.load(std::memory_order_acquire) != kNone; }

// Reads the code and the serial number that the failed kernel has written.
std::string Gates::failure() const {
  const uint32_t code = line_of(state_).epoch.load(std::memory_order_acquire);
  if (code == kNone) return "";
  if (code == kCancelled) return "the wait was cancelled";
  const Gate gate = failed_gate();
  const std::string what = code == kFlagFailed ? "the awaited step failed" : "a gate's deadline passed";
  if (gate.flag == nullptr) return what;
  return what + ": flag '" + *gate.flag + "', wanted epoch " + std::to_string(gate.epoch);
}

// The wait that failed, of a gate or of a list. Its flag is nullptr if so much was launched since that the name
// is forgotten.
Gates::Gate Gates::failed_gate() const {
  const sync::FlagLine& line = line_of(state_);
  const uint32_t serial = line.failure.load(std::memory_order_relaxed);
  if (serial < kOfList) return gates_[serial % kRemembered];
  const uint32_t of = line.arrivals.load(std::memory_order_relaxed);
  const Listed& listed = lists_[of % kRememberedLists];
  if (listed.serial != of || !listed.list) return {};
  const sync::WaitFor& wait = listed.list->waits()[serial - kOfList];
  return {&wait.flag.name(), wait.epoch + listed.base};
}

void Gates::reset() {
  line_of(state_).failure.store(0, std::memory_order_relaxed);
  line_of(state_).epoch.store(kNone, std::memory_order_release);
}

// Keeps a failure that is already there, since it is the first one.
void Gates::cancel() {
  uint32_t none = kNone;
  line_of(state_).epoch.compare_exchange_strong(none, kCancelled);
}

}  // namespace tandem::opencl
