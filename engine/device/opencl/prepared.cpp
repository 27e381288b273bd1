#include "engine/device/opencl/prepared.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/device/opencl/shadow_pages.h"
#include "sync/error.h"

namespace tandem::opencl {
namespace {

// A buffer over zeroed pages, in place of a slot.
struct Shadow {
  std::unique_ptr<ShadowPages> pages;
  cl::Buffer buffer;
};

// The object of an error. It is made for errors only, because making it takes longer than binding an argument.
std::string object_name(const KernelLaunch& launch, const std::string& program, const std::string& device) {
  return program + " (" + launch.kernel + ") on " + device;
}

cl_int enqueue(const cl::CommandQueue& queue, const cl::Kernel& kernel, const KernelLaunch& launch, cl::Event* event) {
  const auto& [gx, gy, gz] = launch.global;
  const auto& [lx, ly, lz] = launch.local;
  return queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(gx, gy, gz), cl::NDRange(lx, ly, lz), nullptr,
                                    event);
}

// The launch as a job for a child, on zeroed memory, as warm_up() does it here. Each slot becomes one buffer of its
// size, and absent operands share a buffer of 4096 bytes.
ProgramJob job_of(const KernelLaunch& launch) {
  ProgramJob job;
  job.kernel = launch.kernel;
  for (size_t d = 0; d < 3; ++d) job.global[d] = launch.global[d], job.local[d] = launch.local[d];
  std::map<uint64_t, uint32_t> numbers;  // buffer numbers by slot id
  const auto number_of = [&](uint64_t slot, uint64_t bytes) {
    const auto [at, is_new] = numbers.try_emplace(slot, static_cast<uint32_t>(job.buffers.size()));
    if (is_new) job.buffers.push_back(bytes);
    return at->second;
  };
  const auto bytes_of = [](const auto& value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const gpu::Arg& arg : launch.args) {
    if (const auto* operand = std::get_if<gpu::BufferArg>(&arg)) {
      const sync::Slot* slot = operand->at ? operand->at.slot : nullptr;
      job.arguments.emplace_back(JobBuffer{slot ? number_of(slot->id() + 1, slot->size_bytes()) : number_of(0, 4096)});
      job.arguments.emplace_back(bytes_of(cl_ulong{operand->at ? operand->at.offset_bytes : 0}));
    } else {
      std::visit([&](const auto& value) { job.arguments.emplace_back(bytes_of(value)); }, arg);
    }
  }
  return job;
}

// The text that lowering adds to a kernel's options; "" if kernels are plain C.
std::string option_of(gpu::ByteProducts how) {
  const std::string option = gpu::byte_products_option(how);
  return option.empty() ? "" : " " + option;
}

}  // namespace

Preparer::Preparer(ProgramCache& programs, SlotMemory& memory, sync::Pool& own_pool, LoweringContext context,
                   bool warm_up, ListVariants* variants, std::function<void(const std::string&)> on_fatal)
    : programs_(programs),
      memory_(memory),
      scratch_(own_pool),
      context_(context),
      byte_products_(option_of(context.byte_products)),
      warm_up_(warm_up),
      variants_(variants),
      on_fatal_(std::move(on_fatal)) {
  cl_int code = CL_SUCCESS;
  dummy_ = cl::Buffer(programs.handle().context, CL_MEM_READ_WRITE, 4096, nullptr, &code);
  check(code, "clCreateBuffer", "the dummy argument on " + programs.handle().id);
}

// Sets all arguments of a kernel object. A buffer takes two: the memory object and an offset in bytes. buffer_of: maps
// slots to buffers, real or shadow ones.
LentKernel Preparer::bind_one(const KernelLaunch& launch, const std::string& program,
                              const std::function<cl::Buffer(const sync::Slot&)>& buffer_of) {
  LentKernel kernel = programs_.lend(launch.source, launch.kernel, launch.options);
  cl_uint index = 0;
  auto set = [&](size_t bytes, const void* value) {
    const cl_int code = kernel.get().setArg(index, bytes, value);
    if (code != CL_SUCCESS)
      check(code, "clSetKernelArg",
            "argument " + std::to_string(index) + " of " + object_name(launch, program, programs_.handle().id));
    ++index;
  };
  for (const gpu::Arg& arg : launch.args) {
    if (const auto* operand = std::get_if<gpu::BufferArg>(&arg)) {
      const cl::Buffer buffer = operand->at ? buffer_of(*operand->at.slot) : dummy_;
      const cl_mem memory = buffer();
      const cl_ulong offset = operand->at ? operand->at.offset_bytes : 0;
      set(sizeof memory, &memory);
      set(sizeof offset, &offset);
    } else {
      std::visit([&](const auto& value) { set(sizeof value, &value); }, arg);
    }
  }
  return kernel;
}

// PoCL compiles a kernel a second time at the first launch of each (kernel, local size) variant. The compiler takes 40
// to 200 ms in the worker thread, which looks like a hung step and ruins the first prediction. So the first launch
// happens here, on shadow memory. Weights, ids and positions are zero there, and no program reads what it writes.
void Preparer::warm_up(const KernelLaunch& launch, const LentKernel& made, const std::string& program,
                       bool launched_here) {
  const Variant variant{made.home(), launch.local, many_groups(launch.global, launch.local)};
  if (warmed_.contains(variant)) return;
  programs_.try_launch(launch.source, launch.options, [&] { return job_of(launch); });  // may throw FatalProgram
  warmed_.insert(variant);
  // A launch from here could wait for a gate in the device's queue, and the gate for launches that this thread makes
  // only afterwards.
  if (!launched_here) return;
  std::map<uint64_t, Shadow> shadows;
  const Handle& handle = programs_.handle();
  const std::string object = object_name(launch, program, handle.id);
  auto shadow_of = [&](const sync::Slot& slot) {
    Shadow& shadow = shadows[slot.id()];
    if (!shadow.pages) {
      shadow.pages = std::make_unique<ShadowPages>(slot.size_bytes());
      cl_int code = CL_SUCCESS;
      shadow.buffer = cl::Buffer(handle.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, slot.size_bytes(),
                                 shadow.pages->data(), &code);
      check(code, "clCreateBuffer", "the warm-up of " + object);
    }
    return shadow.buffer;
  };
  const LentKernel kernel = bind_one(launch, program, shadow_of);
  cl_int code = CL_SUCCESS;
  cl::CommandQueue queue(handle.context, handle.device, 0, &code);
  check(code, "clCreateCommandQueue", object);
  run_queued(queue, object,
             [&] { check(enqueue(queue, kernel.get(), launch, nullptr), "clEnqueueNDRangeKernel", object); });
}

// All ways of multiplying bytes give the same sums. So a kernel without instructions by name can replace any other.
bool Preparer::take_simpler_kernel(KernelLaunch& launch, const std::string& because) {
  const size_t at = byte_products_.empty() ? std::string::npos : launch.options.find(byte_products_);
  if (at == std::string::npos) return false;
  launch.options.erase(at, byte_products_.size());
  // From now on lowering uses kernels in plain C for all programs.
  if (std::exchange(context_.byte_products, gpu::ByteProducts::plain) != gpu::ByteProducts::plain)
    spdlog::warn("{} multiplies bytes without instructions by name: {}", programs_.handle().id, because);
  return true;
}

// Lowers all operators to launches. If all launches can be listed, the program gets records. Its kernel objects are
// then made only when they are needed; otherwise they are made now.
std::shared_ptr<Prepared> Preparer::prepare(std::span<const Operator> operators, const KeptSlots& kept) {
  auto prepared = std::make_shared<Prepared>();
  prepared->launches.reserve(operators.size());
  prepared->operator_of.reserve(operators.size());
  prepared->device = programs_.handle().id;
  if (!operators.empty()) prepared->name = operators.front().name;
  if (operators.size() > 1) prepared->name += " .. " + operators.back().name;
  // Collects the regions of all operators: they are copied around a launch, weights only once.
  for (const Operator& op : operators) {
    if (memory_.shared()) break;
    gpu::collect_regions(op, prepared->copied, kept);
    add_rearrangements(op, *prepared);
  }
  for (gpu::LoweredRun& run : gpu::lower_program(operators, context_)) {
    scratch_.give_to(run.launches);
    for (KernelLaunch& launch : run.launches) {
      prepared->operator_of.push_back(static_cast<int>(launch.op));
      prepared->launches.push_back(std::move(launch));
    }
  }
  prepared->listed = variants_ && std::ranges::all_of(prepared->launches, [this](const KernelLaunch& launch) {
                       return can_be_listed(launch, context_.listed_tokens);
                     });
  if (prepared->listed) {
    for (const KernelLaunch& launch : prepared->launches) {
      const uint64_t variant = variants_->number_of(launch);
      prepared->variants.insert(variant);
      append_record(launch, variant, prepared->records);
    }
  }
  if (!prepared->listed || bind_all_) {
    bind(*prepared, true);
  } else {
    add_unbound(prepared);
  }
  return prepared;
}

void Preparer::add_rearrangements(const Operator& op, Prepared& prepared) {
  for (const gpu::PanelRange& range : gpu::row_piece_ranges(op, context_)) {
    KernelLaunch launch = gpu::rearrange(range);
    LentKernel kernel = bind_in_any_form(launch, prepared.name, true);
    prepared.rearrangements.push_back({range, std::move(launch), std::move(kernel)});
  }
}

// Weak references: a program may be gone before bind_all() is called. Such programs are removed when the list has twice
// as many as it had behind the last removal. A plan has hundreds of programs, so a search for each of them would take
// longer than everything else.
void Preparer::add_unbound(const std::shared_ptr<Prepared>& prepared) {
  if (unbound_.size() >= most_unbound_) {
    std::erase_if(unbound_, [](const std::weak_ptr<Prepared>& known) { return known.expired(); });
    most_unbound_ = std::max<size_t>(2 * unbound_.size(), 64);
  }
  unbound_.push_back(prepared);
}

void Preparer::bind_all(bool on) {
  bind_all_ = on;
  if (!on) return;
  for (const std::weak_ptr<Prepared>& known : std::exchange(unbound_, {})) {
    if (const auto prepared = known.lock()) bind(*prepared, true);
  }
}

// The kernels are set only when all of them are made, so a failure leaves the program unbound.
void Preparer::bind(Prepared& prepared, bool warm) {
  if (prepared.kernels.size() == prepared.launches.size()) return;
  std::vector<LentKernel> kernels;
  kernels.reserve(prepared.launches.size());
  for (KernelLaunch& launch : prepared.launches) {
    try {
      kernels.push_back(bind_in_any_form(launch, prepared.name, warm));
    } catch (const FatalProgram& fatal) {
      on_fatal_(fatal.reason());
      throw;
    }
  }
  prepared.kernels = std::move(kernels);
}

// Tries simpler kernels until the driver's compiler survives one, or none is left.
LentKernel Preparer::bind_in_any_form(KernelLaunch& launch, const std::string& program, bool launched_here) {
  for (;;) {
    try {
      LentKernel kernel = bind_one(launch, program, [this](const sync::Slot& slot) { return memory_.buffer(slot); });
      if (warm_up_) warm_up(launch, kernel, program, launched_here);
      return kernel;
    } catch (const FatalProgram& fatal) {
      if (!take_simpler_kernel(launch, fatal.reason())) throw;
    }
  }
}

// A range that another program shares in part is rearranged in part: from a panel on, so many panels.
void enqueue_rearrangements(const cl::CommandQueue& queue, SlotMemory& memory, Prepared& prepared) {
  for (Rearrangement& one : prepared.rearrangements) {
    for (const auto& part : memory.rearrange_once(one.range)) {
      const std::string object = object_name(one.launch, prepared.name, prepared.device);
      check(one.kernel.get().setArg(1, cl_ulong{part.begin}), "clSetKernelArg", object);
      one.launch.global[1] = (part.end - part.begin) / one.range.panel_bytes();
      check(enqueue(queue, one.kernel.get(), one.launch, nullptr), "clEnqueueNDRangeKernel", object);
    }
  }
}

void enqueue_kernels(const cl::CommandQueue& queue, const Prepared& prepared, std::vector<cl::Event>* events) {
  for (size_t i = 0; i < prepared.kernels.size(); ++i) {
    const KernelLaunch& launch = prepared.launches[i];
    const cl_int code = enqueue(queue, prepared.kernels[i].get(), launch, events ? &events->emplace_back() : nullptr);
    if (code != CL_SUCCESS) check(code, "clEnqueueNDRangeKernel", object_name(launch, prepared.name, prepared.device));
  }
}

}  // namespace tandem::opencl
