#include "engine/device/vulkan/vulkan_device.h"

#include <numeric>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/gpu/kernel_notes.h"
#include "engine/device/gpu/roofline.h"
#include "engine/device/lab/lab.h"
#include "engine/device/proof/proof.h"
#include "engine/device/vulkan/card.h"
#include "engine/device/vulkan/launcher.h"
#include "engine/device/vulkan/litmus.h"
#include "engine/device/vulkan/private_slots.h"
#include "engine/device/vulkan/self_test.h"
#include "engine/device/vulkan/sync_probe.h"
#include "engine/device/vulkan/vulkan_tuning.h"
#include "sync/error.h"

namespace tandem {
namespace vulkan {
namespace {

class VulkanProgram final : public Program {
 public:
  explicit VulkanProgram(std::shared_ptr<Prepared> prepared) : prepared_(std::move(prepared)) {
    prepared_->owner = this;
  }
  const std::shared_ptr<Prepared>& prepared() const { return prepared_; }

 private:
  std::shared_ptr<Prepared> prepared_;  // shared with launches in flight
};

// CPUs run simd shaders and GPUs run simt shaders, unless a test wants others.
KernelFamily family_of(const Handle& handle, std::optional<KernelFamily> wanted) {
  return wanted.value_or(handle.cpu() ? KernelFamily::simd : KernelFamily::simt);
}

// The largest heap that is local to the device.
int64_t memory_bytes(VkPhysicalDevice device) {
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(device, &memory);
  int64_t most = 0;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      most = std::max(most, static_cast<int64_t>(memory.memoryHeaps[i].size));
  }
  return most;
}

// The facts that the driver reports. Facts that must be proven are added by the constructor.
DeviceInfo describe(const Handle& handle, const DeviceOptions& options) {
  auto driver = typed<VkPhysicalDeviceDriverProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
  auto properties = typed<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &driver);
  vkGetPhysicalDeviceProperties2(handle.physical(), &properties);
  DeviceInfo info;
  info.id = handle.id();
  info.name = handle.name();
  info.driver = std::string(driver.driverName) + " " + driver.driverInfo;
  info.kind = DeviceKind::gpu;
  info.cuts_rows = info.queued = true;
  info.family = family_of(handle, options.gpu_family);
  info.memory_bytes = memory_bytes(handle.physical());
  info.own_memory = handle.discrete();
  info.max_allocation_bytes = static_cast<int64_t>(handle.limits().max_allocation);
  if (handle.cpu()) {
    // A CPU driver computes on threads of the host.
    info.compute_units = cpu_workers();
    info.cores = options.gpu_cores;
    return info;
  }
  const ComputeUnits units = compute_units_of(handle.physical());
  info.compute_units = units.count;
  info.units_note = units.note;
  info.card = card_of(handle.physical());
  info.discrete = handle.discrete();
  return info;
}

// The limits that the driver reports, and the proven budget of loops. The constructor adds whether packed dot products
// are exact.
gpu::LoweringContext lowering_context(const Handle& handle, const DeviceInfo& info, int64_t loop_budget) {
  const Limits& limits = handle.limits();
  gpu::LoweringContext context;
  context.family = info.family;
  context.shaders = true;
  context.compute_units = info.compute_units;
  context.local_memory_bytes = limits.max_shared_bytes;
  context.max_work_group = limits.max_invocations;
  context.loop_budget = loop_budget;
  // A binding may have to start before its operand, at a multiple of the required alignment.
  context.max_buffer_bytes = static_cast<int64_t>(limits.max_buffer_range - limits.offset_alignment);
  return context;
}

// Number of bytes from a region's first byte to its last.
uint64_t reach_bytes(const Region& region) {
  if (!region.at || region.rows == 0) return 0;
  return static_cast<uint64_t>(region.rows - 1) * region.pitch_bytes + region.width_bytes;
}

// The parts are members in the order in which they need each other.
class VulkanDevice final : public Device, private DeviceLab, private PrivateSlots {
 public:
  // Proves what the device can do, then makes its memory, preparer and launcher. Each step that may be fatal is
  // announced to the precautions. From then on a child process makes each new pipeline first.
  VulkanDevice(int index, const DeviceOptions& options, const Tuning& tuning)
      : index_(index),
        shared_handle_(std::make_shared<Handle>(index, options.gpu_cores, tuning.messages, tuning.older_calls)),
        handle_(*shared_handle_),
        pipelines_(handle_, PipelineFile(tuning.cache_folder.value_or(gpu::default_cache_folder()),
                                         pipeline_key(handle_.physical()))),
        info_(describe(handle_, options)) {
    // Steps to be spared come from the caller and from the trial of the driver.
    Precautions precautions = options.precautions;
    precautions.spared.insert(handle_.known().spared.begin(), handle_.known().spared.end());
    gpu::settle_zero_copy(info_, options.force_copies, precautions,
                          [&] { return prove_zero_copy(handle_, pipelines_); });
    precautions.take("fused fma");
    info_.fused_fma = prove_fused_fma(handle_, pipelines_);
    if (!handle_.cpu()) info_.exact_quotients = settle_quotients(precautions);
    precautions.take("count loops");
    const int64_t loop_budget = find_loop_budget(handle_, pipelines_);
    info_.policies = test_policies(handle_, pipelines_, info_.zero_copy, loop_budget, precautions);
    precautions.take("prepare to run programs");
    gpu::LoweringContext context = lowering_context(handle_, info_, loop_budget);
    if (!precautions.against("dot products") && prove_packed_dot(handle_, pipelines_))
      context.packed_dot = gpu::PackedDot::extension;
    memory_ = std::make_unique<SlotMemory>(handle_, info_.zero_copy, tuning.own_weights.value_or(info_.own_memory));
    if (memory_->own_weights()) {
      context.has_row_pieces = [memory = memory_.get()](const sync::Slot* slot) {
        return slot == nullptr || (slot->use() == sync::SlotUse::weights && memory->copy_of(*slot).has_value());
      };
      if (tuning.matrix_units) {
        context.matrix_units = *tuning.matrix_units;
      } else if (handle_.matrix_units()) {
        settle_matrix_units(precautions, context);
      }
    }
    info_.kernels = gpu::kernel_notes(context);
    preparer_ = std::make_unique<Preparer>(shared_handle_, pipelines_, *memory_, pool_, context);
    LauncherOptions launching;
    launching.sync_policy = options.sync_policy;
    launching.wait_deadline = options.wait_deadline;
    launcher_ = std::make_unique<Launcher>(handle_, *memory_, launching);
    roofline_ = gpu::roofline(handle_.cpu(), info_.compute_units, 0);
    pipelines_.try_first();  // the pipelines so far were made while the device was tried (proof/proof.h)
  }

  const DeviceInfo& info() const override { return info_; }
  Support supports(const Operator& op) const override;
  std::unique_ptr<Program> prepare(std::span<const Operator> operators) override {
    return prepare_keeping(operators, {});
  }
  std::unique_ptr<Program> prepare_keeping(std::span<const Operator> operators, const KeptSlots& kept) override {
    try {
      return std::make_unique<VulkanProgram>(preparer_->prepare(operators, kept));
    } catch (const proof::FatalProgram& fatal) {
      // Later processes leave the device out as well.
      proof::leave_out(proof::Api::vulkan, index_, fatal.reason());
      throw;
    }
  }
  void launch(std::shared_ptr<const LaunchSequence> sequence, uint32_t base) override;
  Cost estimate(std::span<const Operator> operators) const override { return gpu::cost(roofline_, operators); }
  void finish(std::chrono::milliseconds deadline) override { launcher_->finish(deadline); }
  PrivateSlots* private_slots() override { return memory_->shared() ? nullptr : this; }
  DeviceLab& lab() override { return *this; }

 private:
  // Whether quotients and roots are rounded once, by the driver or with the shaders' correction. The correction takes
  // more instructions, so it is used only if the driver's own quotients are off.
  bool settle_quotients(const Precautions& precautions) {
    precautions.take("quotients");
    if (prove_quotients(handle_, pipelines_)) return true;
    pipelines_.correct_quotients();
    return prove_quotients(handle_, pipelines_);
  }
  // Matrix units multiply weights in pieces of rows. A child process reports that they are wrong, so that later starts
  // do not try them.
  void settle_matrix_units(const Precautions& precautions, gpu::LoweringContext& context) {
    if (info_.family != KernelFamily::simt || precautions.against("matrix units")) return;
    gpu::LoweringContext with_units = context;
    with_units.matrix_units = gpu::MatrixUnits::cooperative;
    with_units.matrix_shape = handle_.matrix_units()->shape;
    if (prove_matrix_units(handle_, pipelines_, with_units, info_.fused_fma)) {
      context = with_units;
    } else {
      precautions.lacks("matrix units", "their kernels do not compile, or do not give the bits of other kernels");
    }
  }
  BufferOf buffers() {
    return [this](const sync::Slot& slot) { return memory_->buffer(slot); };
  }
  void fetch(std::span<const Region> regions) override { fetch_regions(handle_, buffers(), regions); }
  void store(std::span<const Region> regions) override { store_regions(handle_, buffers(), regions); }
  void copy(std::span<const SlotCopy> copies) override { copy_regions(handle_, buffers(), copies); }
  void record_spans(bool on) override { launcher_->record_spans(on); }
  std::vector<DeviceSpan> take_spans() override { return launcher_->take_spans(); }
  uint64_t copied_bytes() const override { return launcher_->copied_bytes(); }
  size_t kernel_launches(const Program& program) const override {
    return dynamic_cast<const VulkanProgram&>(program).prepared()->dispatches;
  }

  std::unique_ptr<SyncProbe> sync_probe(sync::Policy policy, double work_seconds) override {
    require_policy(info_, policy);
    if (!memory_->shared()) {
      throw Error("a waiting policy cannot be measured alone", name_of(policy) + " on " + info_.id,
                  info_.zero_copy_note);
    }
    return make_sync_probe(handle_, pipelines_, policy, work_seconds);
  }
  std::unique_ptr<SyncProbe> launch_probe(double work_seconds) override {
    return make_launch_probe(handle_, pipelines_, work_seconds);
  }
  std::unique_ptr<LitmusAgent> litmus_agent() override {
    if (!memory_->shared()) refuse_litmus(info_);
    return make_litmus_agent(handle_, pipelines_);
  }

  const int index_;
  std::shared_ptr<Handle> shared_handle_;  // shared with programs
  Handle& handle_;
  Pipelines pipelines_;
  sync::Pool pool_;  // memory of the device itself; it outlives its imports
  DeviceInfo info_;
  std::unique_ptr<SlotMemory> memory_;
  std::unique_ptr<Preparer> preparer_;
  std::unique_ptr<Launcher> launcher_;  // is destroyed before the parts it uses
  gpu::Roofline roofline_;
};

// Gives the whole sequence to the launcher as one job list, with epochs counted from the base.
void VulkanDevice::launch(std::shared_ptr<const LaunchSequence> sequence, uint32_t base) {
  std::vector<Launcher::Job> jobs;
  for (const PlannedLaunch& planned : sequence->launches()) {
    PlannedLaunch now = counted_from(base, planned);
    jobs.push_back(
        {dynamic_cast<VulkanProgram&>(*now.program).prepared(), std::move(now.waits), std::move(now.signal)});
  }
  launcher_->launch(std::move(jobs));
}

// Checks features, the sizes of slots and operands, and then whether the operator can be lowered. Weights may be larger
// than a binding, because lowering cuts them.
Support VulkanDevice::supports(const Operator& op) const {
  if (Support features = gpu::supports_features(op); !features.yes) return features;
  const auto most_bytes = static_cast<uint64_t>(preparer_->context().max_buffer_bytes);
  for (const auto& regions : {reads(op), writes(op)}) {
    for (const Region& region : regions) {
      if (!region.at) continue;
      const std::string slot = "slot '" + region.at.slot->label() + "'";
      if (region.at.slot->size_bytes() > handle_.limits().max_allocation) {
        return {false, slot + " is larger than the device's largest allocation of " +
                           std::to_string(handle_.limits().max_allocation) + " bytes"};
      }
      if (region.at.slot->use() != sync::SlotUse::weights && reach_bytes(region) > most_bytes) {
        return {false, slot + " holds an operand of " + std::to_string(reach_bytes(region)) +
                           " bytes, a shader reaches " + std::to_string(most_bytes)};
      }
    }
  }
  try {
    // Throws if a size exceeds what the driver's loop budget allows (shaders/limits.h), or if an argument is too large.
    // The layout of weights does not matter for either, and asking for it would copy them.
    gpu::LoweringContext context = preparer_->context();
    context.has_row_pieces = nullptr;
    gpu::lower(op, context);
  } catch (const Error& error) {
    return {false, error.what()};
  }
  return {};
}

}  // namespace

std::unique_ptr<Device> open_device_tuned(int index, const DeviceOptions& options, const Tuning& tuning) {
  // The number of lavapipe's threads must be set before its driver starts.
  configure_process(options.gpu_cores.size());
  return std::make_unique<VulkanDevice>(index, options, tuning);
}

}  // namespace vulkan

std::unique_ptr<Device> open_vulkan_device(int index, const DeviceOptions& options) {
  return vulkan::open_device_tuned(index, options, {});
}

}  // namespace tandem
