#include "engine/device/opencl/list_launcher.h"

#include <algorithm>
#include <utility>

#include "sync/error.h"

namespace tandem::opencl {
namespace {

constexpr size_t kHeaderBytes = 64, kEntryWords = 4;
enum EntryKind : uint64_t { kWait = 0, kSignal = 1, kRun = 2 };  // kernels/list.cl

uint64_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

ListLauncher::ListLauncher(cl::CommandQueue queue, Gates& gates, SpanRecorder& spans, ProgramCache& programs,
                           SlotMemory& memory, sync::Pool& pool, Preparer& preparer, ListVariants& variants,
                           std::string id, bool list_single_programs, bool stays, bool can_stamp)
    : queue_(queue),
      gates_(gates),
      spans_(spans),
      programs_(programs),
      memory_(memory),
      preparer_(preparer),
      variants_(variants),
      id_(id),
      gate_launcher_(queue, gates, spans, id),
      doorbell_(pool, gates.look_seconds()),
      stays_(stays),
      pool_(pool),
      can_stamp_(can_stamp),
      list_single_programs_(list_single_programs) {}

ListLauncher::~ListLauncher() { doorbell_.dismiss(); }

bool ListLauncher::can_list(const Prepared& program) const {
  if (program.records.empty() || (spans_.recording() && !can_stamp_)) return false;
  return batching_ || list_single_programs_;
}

void ListLauncher::launch(std::shared_ptr<Prepared> program, std::span<const sync::WaitFor> waits,
                          sync::Signal signal) {
  if (!can_list(*program)) {
    try {
      submit();
      doorbell_.dismiss();
      preparer_.bind(*program, false);
    } catch (const std::exception& error) {
      gate_launcher_.reject(program->name, error.what(), signal);
      return;
    }
    gate_launcher_.launch(std::move(program), waits, signal);
    return;
  }
  if (current_ && current_->count + waits.size() + 2 > kEntries) submit();
  if (current_ && current_->stamps && !current_->stamps->has_room(waits.size() + program->launches.size())) submit();
  for (const sync::WaitFor& wait : waits) {
    append(kWait, address_of(&wait.flag.line()), wait.epoch, gates_.remember(wait));
    if (current_->stamps) current_->stamps->add_wait();
  }
  append(kRun, address_of(program->records.data()), 0, 0);
  for (size_t i = 0; current_->stamps && i < program->launches.size(); ++i)
    current_->stamps->add_record(program->owner, program->operator_of[i]);
  if (signal.flag) {
    append(kSignal, address_of(&signal.flag.line()), signal.epoch, 0);
    gate_launcher_.will_raise(signal);
  }
  current_->variants.insert(program->variants.begin(), program->variants.end());
  current_->programs.push_back(std::move(program));
  if (!batching_) submit();
}

ListLauncher::List& ListLauncher::open_list() {
  if (current_) return *current_;
  const auto ended = [](const List& list) {
    const uint32_t done = list.slot->as<sync::FlagLine>()->epoch.load(std::memory_order_acquire);
    return static_cast<int32_t>(done - list.serial) >= 0;
  };
  const auto free = std::ranges::find_if(lists_, ended);
  if (free != lists_.end()) {
    current_ = &*free;
  } else {
    current_ = &lists_.emplace_back();
    current_->slot = &pool_.acquire(kHeaderBytes + kEntries * kEntryWords * sizeof(uint64_t), sync::SlotUse::flags,
                                    "list of programs");
  }
  current_->programs.clear();
  current_->variants.clear();
  current_->count = 0;
  current_->stamps = spans_.recording() ? free_stamps() : nullptr;
  return *current_;
}

std::shared_ptr<StampedList> ListLauncher::free_stamps() {
  auto free = std::ranges::find_if(stamps_, [](const auto& stamps) { return stamps.use_count() == 1; });
  if (free == stamps_.end()) {
    sync::Slot& slot =
        pool_.acquire(StampedList::kMostStamps * sizeof(uint64_t), sync::SlotUse::flags, "stamps of a list");
    free = stamps_.insert(stamps_.end(), std::make_shared<StampedList>(slot));
  }
  (*free)->clear();
  return *free;
}

void ListLauncher::append(uint64_t kind, uint64_t address, uint64_t epoch, uint64_t serial) {
  List& list = open_list();
  uint64_t* entry = list.slot->as<uint64_t>(kHeaderBytes) + list.count * kEntryWords;
  entry[0] = kind;
  entry[1] = address;
  entry[2] = epoch;
  entry[3] = serial;
  ++list.count;
}

cl::Kernel& ListLauncher::kernel_for(const std::set<uint64_t>& variants, bool stamped) {
  const std::vector<uint64_t> chosen(variants.begin(), variants.end());
  const auto known = kernels_.find({chosen, stamped});
  if (known != kernels_.end()) return known->second;
  const std::string source = (stamped ? "#define STAMPS\n" : "") + variants_.source(chosen);
  return kernels_[{chosen, stamped}] = programs_.generated_kernel("list", source, gates_.build_options());
}

void ListLauncher::submit() {
  if (!current_) return;
  List& list = *std::exchange(current_, nullptr);
  list.serial = ++serial_;
  if (post(list)) return;
  try {
    doorbell_.dismiss();
    enqueue(list);
  } catch (const std::exception& error) {
    list.slot->as<sync::FlagLine>()->epoch.store(list.serial, std::memory_order_release);  // nobody will run it
    gate_launcher_.reject(list.programs.empty() ? "" : list.programs.front()->name, error.what(), {});
    for (uint32_t i = 0; i < list.count; ++i) {
      const uint64_t* entry = list.slot->as<uint64_t>(kHeaderBytes) + i * kEntryWords;
      if (entry[0] == kSignal) gate_launcher_.fail_flag(reinterpret_cast<sync::FlagLine*>(entry[1]));
    }
  }
}

// To a kernel that knows all the list's variants.
bool ListLauncher::post(const List& list) {
  if (!stays_ || list.stamps || !std::ranges::includes(resident_variants_, list.variants)) return false;
  const bool taken = doorbell_.post(
      {address_of(list.slot->as<uint64_t>(kHeaderBytes)), address_of(list.slot->data()), list.count, list.serial});
  posted_ += taken;
  return taken;
}

void ListLauncher::enqueue(const List& list) {
  cl::Kernel& kernel = kernel_for(list.variants, list.stamps != nullptr);
  cl_uint index = 0;
  const auto set = [&](const auto& value) {
    check(kernel.setArg(index++, sizeof value, &value), "clSetKernelArg", "list.cl on " + id_);
  };
  const auto set_buffer = [&](const sync::Slot& slot, cl_ulong offset) {
    const cl_mem buffer = memory_.buffer(slot)();
    set(buffer);
    set(offset);
  };
  set_buffer(*list.slot, kHeaderBytes);
  set(cl_uint{list.count});
  set_buffer(*list.slot, 0);
  set(cl_uint{list.serial});
  set_buffer(gates_.state(), 0);
  set(gates_.spins());
  set_buffer(doorbell_.slot(), 0);
  const bool stays = stays_ && !list.stamps;
  set(cl_ulong{stays ? doorbell_.idle_looks() : 0});
  if (list.stamps) {
    set_buffer(list.stamps->slot(), 0);
    list.stamps->arm(*list.slot->as<sync::FlagLine>(), list.serial);
    spans_.add(list.stamps);
  }
  check(queue_.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1), cl::NDRange(1)), "clEnqueueNDRangeKernel",
        "list.cl on " + id_);
  check(queue_.flush(), "clFlush", id_);
  if (!stays) return;
  doorbell_.launched(list.serial);
  resident_variants_ = list.variants;
}

void ListLauncher::batch(bool open) {
  batching_ = open;
  gate_launcher_.batch(open);
  if (!open) submit();
}

void ListLauncher::finish(std::chrono::milliseconds deadline) {
  submit();
  doorbell_.dismiss();
  gate_launcher_.finish(deadline);
}

}  // namespace tandem::opencl
