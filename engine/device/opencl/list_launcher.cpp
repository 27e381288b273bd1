#include "engine/device/opencl/list_launcher.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "sync/error.h"

namespace tandem::opencl {
namespace {

// Numbers of the list kernel's arguments (kernels/list.cl). A buffer takes two, its base and an offset; offsets are 0.
enum ListArgument : cl_uint {
  kAddress = 0,
  kBase,
  kSerial,
  kDone,
  kState = 5,
  kSpins = 7,
  kBell,
  kIdleLooks = 10,
  kStamps
};

// The job that launches a list of nothing (END alone) in a child process. Arguments are in the order
// of kernels/list.cl.
ProgramJob job_of_nothing(cl_ulong spins) {
  enum Buffer : uint32_t { kList, kDoneLine, kDeviceState, kBellRing, kBuffers };
  const auto bytes_of = [](const auto& value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  ProgramJob job;
  job.buffers.assign(kBuffers, 4096);
  job.first_word = ~uint64_t{0};  // END
  const std::string none = bytes_of(cl_ulong{0});
  job.arguments = {JobAddress{kList},
                   bytes_of(cl_uint{0}),
                   bytes_of(cl_uint{0}),
                   JobBuffer{kDoneLine},
                   none,
                   JobBuffer{kDeviceState},
                   none,
                   bytes_of(spins),
                   JobBuffer{kBellRing},
                   none,
                   none,
                   none};
  return job;
}

}  // namespace

ListLauncher::ListLauncher(cl::CommandQueue queue, Gates& gates, SpanRecorder& spans, ProgramCache& programs,
                           SlotMemory& memory, sync::Pool& pool, Preparer& preparer, ListVariants& variants,
                           std::string id, bool list_single_programs, bool stays, bool can_stamp)
    : queue_(queue),
      gates_(gates),
      spans_(spans),
      programs_(programs),
      memory_(memory),
      pool_(pool),
      preparer_(preparer),
      variants_(variants),
      id_(id),
      done_(pool.acquire(sizeof(sync::FlagLine), sync::SlotUse::flags, "lists done")),
      gate_launcher_(queue, gates, spans, id),
      doorbell_(pool, gates.look_seconds()),
      list_single_programs_(list_single_programs),
      stays_(stays),
      can_stamp_(can_stamp) {}

ListLauncher::~ListLauncher() { doorbell_.dismiss(); }

// Programs of a batch are collected and become one list. Any other program follows what was collected, kernel
// by kernel.
void ListLauncher::launch(std::shared_ptr<Prepared> program, std::span<const sync::WaitFor> waits,
                          sync::Signal signal) {
  if (program->listed && takes_lists() && (batching_ || list_single_programs_)) {
    batch_.push_back({std::move(program), {waits.begin(), waits.end()}, signal});
    if (!batching_) submit_batch();
    return;
  }
  submit_batch();
  try {
    doorbell_.dismiss();
    preparer_.bind(*program, false);
  } catch (const std::exception& error) {
    gate_launcher_.reject(program->name, error.what(), signal);
    return;
  }
  gate_launcher_.launch(std::move(program), waits, signal);
}

std::shared_ptr<const ProgramList> ListLauncher::make_list(std::span<const ListedLaunch> launches) const {
  if (launches.empty() || !std::ranges::all_of(launches, [](const ListedLaunch& one) { return one.program->listed; }))
    return nullptr;
  return std::make_shared<const ProgramList>(launches, pool_);
}

// PoCL compiles a kernel a second time at its first launch, for its grid. So the kernel is launched here on an
// empty list.
void ListLauncher::compile(const ProgramList& list) {
  const std::vector<uint64_t>& variants = set_for(list.variants());
  if (kernels_.contains(variants)) return;
  // A resident kernel occupies the only worker, so it is sent away before the launch below.
  doorbell_.dismiss();
  const ProgramList nothing({}, pool_);
  cl::Kernel* kernel = nullptr;
  try {
    kernel = &kernel_for(variants);
  } catch (const FatalProgram& fatal) {
    lists_are_fatal_ = true;
    spdlog::warn("{} takes its programs one by one: {}", id_, fatal.reason());
    return;
  }
  set_arg(*kernel, kIdleLooks, cl_ulong{0}, "list.cl");
  set_arg(*kernel, kStamps, cl_ulong{0}, "list.cl");
  // The empty list has the last serial number, so the done word stays true.
  enqueue(*kernel, nothing.address(), 0, serial_);
  check(queue_.finish(), "clFinish", "list.cl on " + id_);
}

bool ListLauncher::launch(const std::shared_ptr<const ProgramList>& list, uint32_t base) {
  if (!takes_lists()) return false;
  submit_batch();
  submit(list, base);
  return true;
}

// The epochs of a batch are final, so its base is 0.
void ListLauncher::submit_batch() {
  if (batch_.empty()) return;
  submit(make_list(std::exchange(batch_, {})), 0);
}

// Hands the list to the resident kernel, or launches it. If that fails, the flags of the list fail too. Otherwise the
// gate launcher learns which flags the queue will raise, so later programs need no gates for them.
void ListLauncher::submit(std::shared_ptr<const ProgramList> list, uint32_t base) {
  const uint32_t serial = keep(list);
  gates_.remember(serial, list, base);
  try {
    if (!post(*list, base, serial)) enqueue(list, base, serial);
  } catch (const std::exception& error) {
    gate_launcher_.reject(list->name(), error.what(), {});
    for (const sync::Signal& signal : list->last_signals()) gate_launcher_.reject(list->name(), error.what(), signal);
    return;
  }
  for (const sync::Signal& signal : list->last_signals()) gate_launcher_.will_raise({signal.flag, signal.epoch + base});
}

// Only a kernel that knows all the list's variants can take the list. Recorded lists are never posted, because the
// resident kernel does not stamp.
bool ListLauncher::post(const ProgramList& list, uint32_t base, uint32_t serial) {
  if (!stays_ || spans_.recording() || !std::ranges::includes(resident_variants_, list.variants())) return false;
  const bool taken = doorbell_.post({list.address(), base, serial});
  posted_ += taken;
  return taken;
}

// Keeps the list until the device has done it, and releases those that it has done. Serial numbers begin at 1. Numbers
// are compared by their difference, so they may wrap.
uint32_t ListLauncher::keep(std::shared_ptr<const ProgramList> list) {
  const uint32_t done = done_.as<sync::FlagLine>()->epoch.load(std::memory_order_acquire);
  while (!in_flight_.empty() && static_cast<int32_t>(done - in_flight_.front().first) >= 0) in_flight_.pop_front();
  in_flight_.emplace_back(++serial_, std::move(list));
  return serial_;
}

// Reuses memory for stamps that the recorder no longer holds.
std::shared_ptr<StampedList> ListLauncher::free_stamps(const ProgramList& list) {
  const size_t bytes = StampedList::bytes_for(list);
  const auto free = std::ranges::find_if(
      stamps_, [&](const auto& stamps) { return stamps.use_count() == 1 && stamps->bytes() >= bytes; });
  if (free != stamps_.end()) return *free;
  sync::Slot& slot = pool_.acquire(bytes, sync::SlotUse::flags, "stamps of a list");
  return stamps_.emplace_back(std::make_shared<StampedList>(slot));
}

// The first known set that has all these variants; without one, these variants become a set.
const std::vector<uint64_t>& ListLauncher::set_for(const std::vector<uint64_t>& variants) {
  const auto whole = [&](const std::vector<uint64_t>& set) { return std::ranges::includes(set, variants); };
  const auto known = std::ranges::find_if(sets_, whole);
  return known != sets_.end() ? *known : sets_.emplace_back(variants);
}

// Arguments that never change are set once, when the kernel is built. If the device can stamp, every kernel can, so
// that a recorded pass needs no second kernel.
cl::Kernel& ListLauncher::kernel_for(const std::vector<uint64_t>& variants) {
  const auto known = kernels_.find(variants);
  if (known != kernels_.end()) return known->second;
  const std::string source = (can_stamp_ ? "#define STAMPS\n" : "") + variants_.source(variants);
  cl::Kernel kernel =
      programs_.generated_kernel("list", source, gates_.build_options(), job_of_nothing(gates_.spins()));
  set_buffer(kernel, kDone, done_);
  set_buffer(kernel, kState, gates_.state());
  set_arg(kernel, kSpins, gates_.spins(), "list.cl");
  set_buffer(kernel, kBell, doorbell_.slot());
  return kernels_[variants] = kernel;
}

void ListLauncher::set_buffer(cl::Kernel& kernel, cl_uint index, const sync::Slot& slot) {
  const cl_mem buffer = memory_.buffer(slot)();
  set_arg(kernel, index, buffer, "list.cl");
  set_arg(kernel, index + 1, cl_ulong{0}, "list.cl");
}

// A resident kernel occupies the only worker, so it is sent away first. A kernel that stamps does not stay.
void ListLauncher::enqueue(const std::shared_ptr<const ProgramList>& list, uint32_t base, uint32_t serial) {
  doorbell_.dismiss();
  const std::shared_ptr<StampedList> stamps = spans_.recording() ? free_stamps(*list) : nullptr;
  const std::vector<uint64_t>& variants = set_for(list->variants());
  cl::Kernel& kernel = kernel_for(variants);
  set_arg(kernel, kIdleLooks, stamps ? cl_ulong{0} : stay_looks(), "list.cl");
  set_arg(kernel, kStamps, stamps ? stamps->address() : cl_ulong{0}, "list.cl");
  if (stamps) stamps->arm(list, *done_.as<sync::FlagLine>(), serial);
  enqueue(kernel, list->address(), base, serial);
  if (stamps) spans_.add(stamps);
  check(queue_.flush(), "clFlush", id_);
  if (!stays_ || stamps) return;
  doorbell_.launched(serial);
  resident_variants_ = variants;
}

void ListLauncher::enqueue(cl::Kernel& kernel, uint64_t address, uint32_t base, uint32_t serial) {
  set_arg(kernel, kAddress, cl_ulong{address}, "list.cl");
  set_arg(kernel, kBase, cl_uint{base}, "list.cl");
  set_arg(kernel, kSerial, cl_uint{serial}, "list.cl");
  check(queue_.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1), cl::NDRange(1)), "clEnqueueNDRangeKernel",
        "list.cl on " + id_);
}

void ListLauncher::batch(bool open) {
  batching_ = open;
  gate_launcher_.batch(open);
  if (!open) submit_batch();
}

// The queue is idle only when a resident kernel has left, so that kernel is sent away first.
void ListLauncher::finish(std::chrono::milliseconds deadline) {
  submit_batch();
  doorbell_.dismiss();
  gate_launcher_.finish(deadline);
}

}  // namespace tandem::opencl
