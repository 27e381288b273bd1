#include "engine/device/opencl/self_test.h"

#include <chrono>
#include <cstring>
#include <thread>

#include "engine/device/opencl/card.h"
#include "engine/device/opencl/event_wait.h"
#include "engine/device/opencl/sync_probe.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "sync/waiter.h"

namespace tandem::opencl {
namespace {

using gpu::microseconds_since, gpu::test_policy;
constexpr std::chrono::milliseconds kBound{5000};  // generous: the first launch of a kernel may compile it

void run_single(const cl::CommandQueue& queue, const cl::Kernel& kernel, size_t items, const std::string& object) {
  run_queued(queue, object, [&] {
    check(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(items), cl::NDRange(1)),
          "clEnqueueNDRangeKernel", object);
  });
}

void set_buffer(cl::Kernel& kernel, cl_uint index, const cl::Buffer& buffer, const std::string& object) {
  const cl_mem memory = buffer();
  const cl_ulong offset = 0;
  check(kernel.setArg(index, sizeof memory, &memory), "clSetKernelArg", object);
  check(kernel.setArg(index + 1, sizeof offset, &offset), "clSetKernelArg", object);
}

sync::WaitContext bounded(const char* step) {
  sync::WaitContext context;
  context.step = step;
  context.device = "self-test";
  context.deadline = kBound;
  return context;
}

// The host sees a flag that a kernel has raised, without map and finish. Returns the note of the test; throws if the
// host does not see it.
std::string flag_reaches_host(sync::Policy policy, const cl::CommandQueue& queue, Gates& gates, const sync::Flag& flag,
                              uint32_t epoch) {
  gates.enqueue_signal(queue, {flag, epoch});
  check(queue.flush(), "clFlush", "self-test");
  const auto begin = Clock::now();
  const std::string step = name_of(policy);
  sync::make_waiter(policy)->wait(flag, epoch, bounded(step.c_str()));
  return "a kernel's flag was seen after " + microseconds_since(begin);
}

// A queued gate holds the queue until the host raises its flag, and then opens. The host looks after 2 ms whether the
// gate has opened too early.
std::string gate_opens(const cl::CommandQueue& queue, Gates& gates, const sync::Flag& in, const sync::Flag& out) {
  gates.set_bound(kBound);
  gates.enqueue_wait(queue, {in, 1});
  gates.enqueue_signal(queue, {out, 3});
  check(queue.flush(), "clFlush", "self-test");
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  if (out.reached(3)) throw Error("a gate opened before its flag was raised", "self-test");
  const auto begin = Clock::now();
  in.raise(1);
  sync::make_waiter(sync::Policy::spin)->wait(out, 3, bounded("gate"));
  const std::string time = microseconds_since(begin);
  check(queue.finish(), "clFinish", "self-test");
  return "opened " + time + " after the host's store; " + gates.orders();
}

// The host sees the driver's event of a command end within the bound.
std::string event_ends(const cl::CommandQueue& queue) {
  cl::Event marker;
  check(queue.enqueueMarkerWithWaitList(nullptr, &marker), "clEnqueueMarkerWithWaitList", "self-test");
  check(queue.flush(), "clFlush", "self-test");
  const auto begin = Clock::now();
  wait_for_event(marker, kBound, "self-test");
  return "an event's end was seen after " + microseconds_since(begin);
}

// A resident kernel takes a step from shared memory and ends when the host stops it.
std::string doorbell_answers(ProgramCache& programs, uint64_t max_allocation_bytes) {
  const auto probe = make_sync_probe(programs, max_allocation_bytes, sync::Policy::doorbell, 0);
  probe->arm();
  const auto begin = Clock::now();
  probe->start();
  probe->wait(0, kBound);
  return "a resident kernel answered after " + microseconds_since(begin);
}

// Runs a kernel of probe.cl with this number of work-items, from `in` to `out`, through buffers of the device.
void run_floats(ProgramCache& programs, const cl::CommandQueue& queue, const char* name, std::span<const float> in,
                std::span<float> out, size_t items) {
  const std::string object = std::string(name) + " on " + programs.handle().id;
  cl_int code = CL_SUCCESS;
  const cl::Buffer in_buffer(programs.handle().context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, in.size_bytes(),
                             const_cast<float*>(in.data()), &code);
  check(code, "clCreateBuffer", object);
  const cl::Buffer out_buffer(programs.handle().context, CL_MEM_READ_WRITE, out.size_bytes(), nullptr, &code);
  check(code, "clCreateBuffer", object);
  cl::Kernel kernel = programs.kernel("probe", name, "");
  set_buffer(kernel, 0, in_buffer, object);
  set_buffer(kernel, 2, out_buffer, object);
  run_single(queue, kernel, items, object);
  check(queue.enqueueReadBuffer(out_buffer, CL_TRUE, 0, out.size_bytes(), out.data()), "clEnqueueReadBuffer", object);
}

}  // namespace

std::string options_of_every_program(const cl::Device& device) {
  // -w, because PoCL 5.0 prints how many warnings there were. Quotients and roots follow the contract if the device can
  // round them once (docs/numbers.md). Otherwise OpenCL allows an error of 2.5 units.
  const bool rounds_once = device.getInfo<CL_DEVICE_SINGLE_FP_CONFIG>() & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
  return std::string("-w") + (rounds_once ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
}

int64_t vector_registers(const cl::Device& device) {
  // AVX-512 has 32 registers of 16 floats. Otherwise the device is taken to have 16 of 8 floats or 32 of 4.
  return device.getInfo<CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT>() >= 16 ? 32 : 8;
}

// Builds the probe with the prefetch builtin, and without it if that fails. The cache that has built the probe is used
// from then on.
ProgramCache open_programs(Handle handle, const ProgramFiles& files, const OnLongWork& on_long_work,
                           const Precautions& precautions) {
  const std::string always = options_of_every_program(handle.device);
  const auto with = [&](const std::string& build_options) {
    handle.build_options = always + build_options;
    ProgramCache programs(handle, files, on_long_work, precautions.before_step);
    programs.kernel("probe", "probe_increment", "");
    return programs;
  };
  bool refused = false;
  try {
    if (!precautions.against("prefetch")) return with(" -DHAS_PREFETCH");
  } catch (const Error&) {
    refused = true;  // the compiler lacks the builtin; any other fault shows in the build without it
  }
  precautions.take("build the probe");
  ProgramCache programs = with("");
  // NVIDIA's compiler prints an error message, so the next process does not try.
  if (refused) precautions.lacks("prefetch", "the compiler has no such builtin");
  return programs;
}

// Imports a slot, checks the pointer of a map, then lets the kernel increment a word twice. The host writes the word
// after the import and without a map, so only shared memory passes it on.
Proof prove_zero_copy(ProgramCache& programs, const cl::CommandQueue& queue) {
  const std::string object = "zero-copy test on " + programs.handle().id;
  sync::Pool pool;
  sync::Slot& slot = pool.acquire(4096, sync::SlotUse::activations, "zero-copy test");
  try {
    cl_int code = CL_SUCCESS;
    const cl::Buffer buffer(programs.handle().context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, slot.size_bytes(),
                            slot.data(), &code);
    check(code, "clCreateBuffer", object);
    void* mapped = queue.enqueueMapBuffer(buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, slot.size_bytes(), nullptr,
                                          nullptr, &code);
    check(code, "clEnqueueMapBuffer", object);
    const bool in_place = mapped == slot.data();
    check(queue.enqueueUnmapMemObject(buffer, mapped), "clEnqueueUnmapMemObject", object);
    check(queue.finish(), "clFinish", object);
    if (!in_place) return {false, "a map gives another pointer than the host's"};
    cl::Kernel kernel = programs.kernel("probe", "probe_increment", "");
    set_buffer(kernel, 0, buffer, object);
    // Two different values, so that a copy made at the import does not pass.
    volatile uint32_t* word = slot.as<uint32_t>();
    for (uint32_t value : {41u, 1000u}) {
      *word = value;  // after the import and without a map
      run_single(queue, kernel, 1, object);
      if (*word != value + 1) return {false, "a kernel and the host do not see each other's stores without a map"};
    }
    return {true, "a map gives the same pointer, stores are seen both ways without it"};
  } catch (const Error& error) {
    return {false, error.what()};
  }
}

bool prove_fused_fma(ProgramCache& programs, const cl::CommandQueue& queue) {
  const std::vector<float> in = gpu::fma_cases();
  std::vector<float> out(in.size() / 3);
  run_floats(programs, queue, "probe_fma", in, out, out.size());
  return gpu::rounded_once(in, out);
}

bool prove_quotients(ProgramCache& programs, const cl::CommandQueue& queue) {
  const std::vector<float> in = gpu::quotient_cases();
  std::vector<float> out(in.size());
  run_floats(programs, queue, "probe_quotient", in, out, out.size() / 2);
  return gpu::divided_exactly(in, out);
}

// The kernel counts its iterations. A driver may end loops early and report nothing (docs/drivers.md).
uint32_t find_loop_budget(ProgramCache& programs, const cl::CommandQueue& queue) {
  // More than the 65,535 iterations after which llvmpipe ends loops.
  constexpr cl_uint kWanted = 70000;
  const std::string object = "loop test on " + programs.handle().id;
  cl_int code = CL_SUCCESS;
  const cl::Buffer counted(programs.handle().context, CL_MEM_READ_WRITE, sizeof(cl_uint), nullptr, &code);
  check(code, "clCreateBuffer", object);
  cl::Kernel kernel = programs.kernel("probe", "probe_loop", "");
  set_buffer(kernel, 0, counted, object);
  check(kernel.setArg(2, kWanted), "clSetKernelArg", object);
  run_single(queue, kernel, 1, object);
  cl_uint count = 0;
  check(queue.enqueueReadBuffer(counted, CL_TRUE, 0, sizeof count, &count), "clEnqueueReadBuffer", object);
  return count == kWanted ? 0 : count;
}

// Without gates, only the driver's own ways are tested, and flags are the host thread's. With gates, flags that kernels
// raise are tested too. Gates and doorbells hold a core, so they need a second one on a CPU device. A gate that fails
// is cancelled, so that the queue is idle again.
std::vector<PolicyTest> test_policies(ProgramCache& programs, const cl::CommandQueue& queue, Gates* gates,
                                      const std::string& without_gates, sync::Pool& pool, const DeviceInfo& info,
                                      const Precautions& precautions) {
  std::vector<PolicyTest> tests;
  const auto test = [&](sync::Policy policy, const std::function<std::string()>& body) {
    tests.push_back(test_policy(policy, precautions, body));
  };
  test(sync::Policy::blocking, [&] {
    const auto begin = Clock::now();
    check(queue.enqueueMarkerWithWaitList(), "clEnqueueMarkerWithWaitList", "self-test");
    check(queue.finish(), "clFinish", "self-test");
    return "clFinish returned after " + microseconds_since(begin);
  });
  test(sync::Policy::event, [&] { return event_ends(queue); });
  if (!gates) {
    for (const sync::Policy policy : {sync::Policy::spin, sync::Policy::predict}) {
      tests.push_back({policy, true, "flags are raised by the device's host thread: " + without_gates});
    }
    for (const sync::Policy policy : {sync::Policy::gate, sync::Policy::doorbell})
      tests.push_back({policy, false, without_gates});
    return tests;
  }
  sync::FlagBank bank(pool, 8, "self-test flags");
  const sync::Flag in = bank.make("self-test in"), out = bank.make("self-test out");
  test(sync::Policy::spin, [&] { return flag_reaches_host(sync::Policy::spin, queue, *gates, out, 1); });
  test(sync::Policy::predict, [&] { return flag_reaches_host(sync::Policy::predict, queue, *gates, out, 2); });
  if (is_cpu(programs.handle().device) && std::thread::hardware_concurrency() < 2) {
    for (const sync::Policy policy : {sync::Policy::gate, sync::Policy::doorbell})
      tests.push_back({policy, false, "a kernel that spins would hold the only core"});
    return tests;
  }
  test(sync::Policy::gate, [&] {
    gates->calibrate(queue);
    return gate_opens(queue, *gates, in, out);
  });
  if (!tests.back().passed) {
    gates->cancel();
    queue.finish();
    gates->reset();
  }
  test(sync::Policy::doorbell, [&] {
    if (!is_cpu(programs.handle().device)) throw Error("a GPU may end a kernel that stays for long", info.id);
    return doorbell_answers(programs, static_cast<uint64_t>(info.max_allocation_bytes));
  });
  return tests;
}

}  // namespace tandem::opencl
