#include "engine/device/opencl/opencl_device.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <thread>

#include "engine/device/gpu/kernel_notes.h"
#include "engine/device/gpu/roofline.h"
#include "engine/device/lab/lab.h"
#include "engine/device/opencl/card.h"
#include "engine/device/opencl/gate_launcher.h"
#include "engine/device/opencl/host_launcher.h"
#include "engine/device/opencl/list_launcher.h"
#include "engine/device/opencl/list_stamps.h"
#include "engine/device/opencl/litmus.h"
#include "engine/device/opencl/opencl_tuning.h"
#include "engine/device/opencl/platform.h"
#include "engine/device/opencl/prepared.h"
#include "engine/device/opencl/products.h"
#include "engine/device/opencl/self_test.h"
#include "engine/device/opencl/spans.h"
#include "engine/device/opencl/sync_probe.h"
#include "engine/device/private_slots.h"
#include "engine/device/proof/proof.h"
#include "sync/error.h"

namespace tandem {
namespace opencl {
namespace {

class OpenclProgram final : public Program {
 public:
  explicit OpenclProgram(std::shared_ptr<Prepared> prepared) : prepared_(std::move(prepared)) {
    prepared_->owner = this;
  }
  const std::shared_ptr<Prepared>& prepared() const { return prepared_; }

 private:
  std::shared_ptr<Prepared> prepared_;  // shared with launches in flight
};

// The part that build() makes of a repeated sequence. list: launches it as a whole; nullptr: its programs are launched
// one by one.
struct Listed final : LaunchSequence::Built {
  explicit Listed(std::shared_ptr<const ProgramList> made) : list(std::move(made)) {}
  const std::shared_ptr<const ProgramList> list;
};

// Finds the device and makes its context. precautions: gets the steps that its driver must be spared, besides those
// it holds.
Handle open_handle(int index, Precautions& precautions) {
  const std::string id = "opencl:" + std::to_string(index);
  const std::vector<FoundDevice> found = find_devices();
  if (found.empty()) {
    throw Error("there is no OpenCL device", id,
                "Install an OpenCL driver; on Debian without a GPU: apt-get install pocl-opencl-icd");
  }
  if (index < 0 || index >= static_cast<int>(found.size())) {
    throw Error("no such OpenCL device", id, "There are " + std::to_string(found.size()) + ", counted from opencl:0");
  }
  precautions.spared.merge(proof::require_usable(proof::Api::opencl, index, identities(found)).spared);
  Handle handle{found[index].platform, found[index].device, {}, id, ""};
  cl_int code = CL_SUCCESS;
  cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(handle.platform()),
                                        0};
  handle.context = cl::Context(handle.device, properties, nullptr, nullptr, &code);
  check(code, "clCreateContext", id);
  return handle;
}

// CPUs run simd kernels and GPUs run simt kernels, unless a test wants others.
KernelFamily family_of(const cl::Device& device, std::optional<KernelFamily> wanted) {
  return wanted.value_or(is_cpu(device) ? KernelFamily::simd : KernelFamily::simt);
}

// The facts that the driver reports. Facts that must be proven are added by prove().
DeviceInfo describe(const Handle& handle, const DeviceOptions& options) {
  const cl::Device& device = handle.device;
  DeviceInfo info;
  info.id = handle.id;
  info.name = device.getInfo<CL_DEVICE_NAME>();
  info.driver = handle.platform.getInfo<CL_PLATFORM_NAME>() + " " + device.getInfo<CL_DRIVER_VERSION>();
  info.kind = DeviceKind::gpu;
  info.cuts_rows = info.queued = true;
  info.family = family_of(device, options.gpu_family);
  info.vector_kernels = info.family == KernelFamily::simd;
  info.memory_bytes = static_cast<int64_t>(device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>());
  info.max_allocation_bytes = static_cast<int64_t>(device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>());
  info.compute_units = static_cast<int>(device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>());
  if (is_cpu(device)) {  // on PoCL worker i runs on core i
    // Other drivers may use any core. rusticl counts more units than there are cores.
    info.cores.resize(
        std::min<size_t>(static_cast<size_t>(info.compute_units), std::max(1u, std::thread::hardware_concurrency())));
    std::iota(info.cores.begin(), info.cores.end(), 0);
  } else {
    info.card = card_of(device);
    info.discrete = is_discrete(device);
  }
  return info;
}

// Fields that must be proven (byte products, packed dot products) are set later, by the device's constructor.
LoweringContext lowering_context(const Handle& handle, const DeviceInfo& info) {
  LoweringContext context;
  context.family = info.family;
  context.compute_units = info.compute_units;
  context.local_memory_bytes = handle.device.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>();
  context.max_work_group = handle.device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>();
  context.vector_registers = vector_registers(handle.device);
  if (is_cpu(handle.device)) context.processor = this_processor();
  return context;
}

cl::CommandQueue make_queue(const Handle& handle) {
  cl_int code = CL_SUCCESS;
  // Profiling is always on. Time stamps cost nothing measurable, and spans may be asked for at any time.
  cl::CommandQueue queue(handle.context, handle.device, CL_QUEUE_PROFILING_ENABLE, &code);
  check(code, "clCreateCommandQueue", handle.id);
  return queue;
}

// Weights that are copied lie in pieces of rows. Without a slot only kernels are compiled, for such weights.
bool is_weights(const sync::Slot* slot) { return slot == nullptr || slot->use() == sync::SlotUse::weights; }

bool passed(const DeviceInfo& info, sync::Policy policy) {
  return std::ranges::any_of(info.policies,
                             [&](const PolicyTest& test) { return test.policy == policy && test.passed; });
}

// Why this device launches no lists; "": it does. A doorbell can hand over a pass only if one launch of the list kernel
// is the whole pass.
std::string reason_without_lists(const DeviceInfo& info, bool cpu, bool gates) {
  if (!cpu) return "it is no CPU device";
  if (!gates) return "they also need gates";
  if (info.family != KernelFamily::simd) return "they need simd kernels";
  if (info.compute_units != 1) return "they need a single worker, and it has " + std::to_string(info.compute_units);
  return "";
}

// The error for --sync doorbell: the self-test's reason, or why there are no lists, and the policies that work here.
Error no_doorbell(const DeviceInfo& info, const std::string& without_lists) {
  std::string passed_ones;
  for (const PolicyTest& test : info.policies) {
    if (test.policy == sync::Policy::doorbell && !test.passed)
      return Error("a waiting policy is switched off", "doorbell on " + info.id, test.reason);
    if (test.passed && test.policy != sync::Policy::doorbell)
      passed_ones += (passed_ones.empty() ? "" : ", ") + name_of(test.policy);
  }
  return Error("programs cannot wait for a doorbell on this device: " + without_lists, info.id,
               "--sync knows here: " + passed_ones +
                   (info.compute_units > 1 ? ". PoCL has a single worker with --threads 2" : ""));
}

// The parts are members in the order in which they need each other.
class OpenclDevice final : public Device, private DeviceLab, private PrivateSlots {
 public:
  // Proves what the device can do, then picks its way of launching: lists (one CPU worker, simd kernels, gates), gates,
  // or a host thread. Each step that may be fatal is announced to the precautions. Instructions for byte products are
  // tried before the first program is prepared.
  OpenclDevice(int index, Handle opened, const DeviceOptions& options, const Tuning& tuning)
      : programs_(open_programs(opened, ProgramFiles(options.program_folder, opened.device), options.on_long_work,
                                options.precautions)),
        handle_(programs_.handle()),
        queue_(make_queue(handle_)),
        spans_(handle_.id),
        info_(describe(handle_, options)) {
    const bool cpu = is_cpu(handle_.device);
    prove(options, tuning);
    // Gates exist only if memory is shared. --sync blocking does without them.
    const bool use_gates = gates_ && options.sync_policy != sync::Policy::blocking && passed(info_, sync::Policy::gate);
    // With one worker, a pass of a few tokens is one launch of the list kernel. Several workers share the work-groups
    // of each kernel instead.
    const std::string without_lists = reason_without_lists(info_, cpu, use_gates);
    const bool use_lists = without_lists.empty();
    const bool stays = options.sync_policy == sync::Policy::doorbell && passed(info_, sync::Policy::doorbell);
    for (PolicyTest& test : info_.policies) {
      if (test.policy == sync::Policy::doorbell && test.passed && !use_lists)
        test.reason += ", but runs cannot wait by it: " + without_lists;
    }
    // The cycle counter is tried only if lists will use it.
    lists_stamp_ = use_lists && tuning.lists_may_stamp && !options.precautions.against("stamps") &&
                   cycle_stamps_proven(programs_, queue_);
    options.precautions.take("prepare to run programs");
    // A caller that asks for the doorbell gets it or an error, and no other policy.
    if (options.sync_policy == sync::Policy::doorbell && !(use_lists && stays)) throw no_doorbell(info_, without_lists);
    LoweringContext context = lowering_context(handle_, info_);
    if (cpu) context.byte_products = best_byte_products(programs_, queue_, options.precautions);
    settle_keeping(programs_, context.byte_products, options.precautions);
    if (info_.family == KernelFamily::simt && !options.precautions.against("dot products")) {
      context.packed_dot = prove_packed_dot(programs_, queue_);
      // The child process reports the lack, so that only there the compiler prints its complaints.
      if (context.packed_dot == gpu::PackedDot::none)
        options.precautions.lacks("dot products", "they do not compile, or are not exact");
    }
    if (info_.family == KernelFamily::simt && !memory_->shared() && !options.precautions.against("matrix units")) {
      context.matrix_units = prove_matrix_units(programs_, queue_);
      if (context.matrix_units == gpu::MatrixUnits::none)
        options.precautions.lacks("matrix units",
                                  "no kernel knows any of this device, or they do not give the host's bits");
    }
    if (!memory_->shared()) context.has_row_pieces = is_weights;
    if (use_lists) context.listed_tokens = info_.listed_tokens = options.listed_tokens;
    info_.kernels = gpu::kernel_notes(context);
    preparer_ = std::make_unique<Preparer>(
        programs_, *memory_, pool_, context, cpu, use_lists ? &variants_ : nullptr,
        [index](const std::string& why) { proof::leave_out(proof::Api::opencl, index, why); });
    if (use_gates) gates_->set_bound(options.wait_deadline);
    if (use_lists) {
      auto lists =
          std::make_unique<ListLauncher>(queue_, *gates_, spans_, programs_, *memory_, pool_, *preparer_, variants_,
                                         handle_.id, tuning.list_single_programs, stays, lists_stamp_);
      lists_ = lists.get();
      launcher_ = std::move(lists);
    } else if (use_gates) {
      launcher_ = std::make_unique<GateLauncher>(queue_, *gates_, spans_, handle_.id);
    } else {
      launcher_ = std::make_unique<HostLauncher>(queue_, *memory_, spans_, handle_.id, options.sync_policy,
                                                 options.wait_deadline);
    }
    roofline_ = gpu::roofline(cpu, info_.compute_units, handle_.device.getInfo<CL_DEVICE_MAX_CLOCK_FREQUENCY>() * 1e6);
  }

  const DeviceInfo& info() const override { return info_; }
  Support supports(const Operator& op) const override;
  std::unique_ptr<Program> prepare(std::span<const Operator> operators) override {
    return prepare_keeping(operators, {});
  }
  std::unique_ptr<Program> prepare_keeping(std::span<const Operator> operators, const KeptSlots& kept) override {
    return std::make_unique<OpenclProgram>(preparer_->prepare(operators, kept));
  }
  void launch(std::shared_ptr<const LaunchSequence> sequence, uint32_t base) override;
  Cost estimate(std::span<const Operator> operators) const override { return gpu::cost(roofline_, operators); }
  void finish(std::chrono::milliseconds deadline) override { launcher_->finish(deadline); }
  PrivateSlots* private_slots() override { return memory_->shared() ? nullptr : this; }
  DeviceLab& lab() override { return *this; }

  const cl::Context& context() const { return handle_.context; }
  const ListLauncher* lists() const { return lists_; }

 private:
  void prove(const DeviceOptions& options, const Tuning& tuning);
  std::unique_ptr<const LaunchSequence::Built> build(std::span<const PlannedLaunch> launches) override;

  void fetch(std::span<const Region> regions) override {
    run_queued(queue_, handle_.id, [&] {
      for (const Region& region : regions) memory_->download(queue_, region);
    });
  }
  void store(std::span<const Region> regions) override {
    run_queued(queue_, handle_.id, [&] {
      for (const Region& region : regions) memory_->upload(queue_, region);
    });
  }
  void copy(std::span<const SlotCopy> copies) override {
    run_queued(queue_, handle_.id, [&] {
      for (const SlotCopy& one : copies) memory_->copy_within(queue_, one);
    });
  }

  void record_spans(bool on) override {
    preparer_->bind_all(on && !lists_stamp_);  // recorded programs are then launched kernel by kernel
    on ? spans_.start(queue_) : spans_.stop();
  }
  std::vector<DeviceSpan> take_spans() override { return spans_.take(); }

  uint64_t copied_bytes() const override { return launcher_->copied_bytes(); }
  size_t kernel_launches(const Program& program) const override {
    return dynamic_cast<const OpenclProgram&>(program).prepared()->launches.size();
  }

  std::unique_ptr<SyncProbe> sync_probe(sync::Policy policy, double work_seconds) override {
    require_policy(info_, policy);
    if (!memory_->shared())
      throw Error("a waiting policy cannot be measured alone", name_of(policy) + " on " + info_.id,
                  info_.zero_copy_note);
    return make_sync_probe(programs_, static_cast<uint64_t>(info_.max_allocation_bytes), policy, work_seconds);
  }
  std::unique_ptr<SyncProbe> launch_probe(double work_seconds) override {
    return make_launch_probe(programs_, static_cast<uint64_t>(info_.max_allocation_bytes), work_seconds);
  }
  std::unique_ptr<LitmusAgent> litmus_agent() override {
    if (!memory_->shared()) refuse_litmus(info_);
    return make_litmus_agent(programs_, static_cast<uint64_t>(info_.max_allocation_bytes));
  }

  ProgramCache programs_;
  Handle handle_;
  sync::Pool pool_;  // flags and state of the device itself
  cl::CommandQueue queue_;
  SpanRecorder spans_;
  DeviceInfo info_;
  std::unique_ptr<SlotMemory> memory_;
  std::unique_ptr<Gates> gates_;  // only where memory is shared
  ListVariants variants_;
  bool lists_stamp_ = false;  // lists stamp their parts while spans are recorded
  std::unique_ptr<Preparer> preparer_;
  std::unique_ptr<Launcher> launcher_;  // is destroyed before the parts it uses
  ListLauncher* lists_ = nullptr;       // launcher_, if it takes lists; otherwise nullptr
  gpu::Roofline roofline_;
};

// Tests what later parts rely on: shared memory, complete loops, exact arithmetic, and each way of waiting. Steps are
// announced before they are taken. Gates are made only if memory is shared.
void OpenclDevice::prove(const DeviceOptions& options, const Tuning& tuning) {
  const Precautions& precautions = options.precautions;
  gpu::settle_zero_copy(info_, options.force_copies, precautions, [&] { return prove_zero_copy(programs_, queue_); });
  // If memory is shared, weights are used in place, even on a card.
  info_.own_memory = !info_.zero_copy && !handle_.device.getInfo<CL_DEVICE_HOST_UNIFIED_MEMORY>();
  precautions.take("count loops");
  if (const uint32_t budget = find_loop_budget(programs_, queue_)) {
    throw UnfitDevice(
        "the driver ends the loops of a kernel after " + std::to_string(budget) +
            " iterations and says nothing, so results would be wrong",
        info_.id + " (" + info_.name + ", " + info_.driver + ")",
        "Use the device through Vulkan, whose shaders are cut for that, or name another one with --device");
  }
  precautions.take("fused fma");
  info_.fused_fma = prove_fused_fma(programs_, queue_);
  if (!is_cpu(handle_.device)) {
    precautions.take("quotients");
    info_.exact_quotients = prove_quotients(programs_, queue_);
  }
  memory_ = std::make_unique<SlotMemory>(handle_, info_.zero_copy, info_.max_allocation_bytes);
  std::string without_gates = "memory is not shared";
  if (info_.zero_copy) {
    if (const auto why = precautions.against("gates")) {
      without_gates = *why;
    } else {
      gates_ = std::make_unique<Gates>(programs_, *memory_, pool_, tuning.c11_atomics);
    }
  }
  info_.policies = test_policies(programs_, queue_, gates_.get(), without_gates, pool_, info_, precautions);
}

// Compiles the list's kernel now, so that the first launch of the sequence does not wait for it.
std::unique_ptr<const LaunchSequence::Built> OpenclDevice::build(std::span<const PlannedLaunch> launches) {
  if (lists_ == nullptr) return std::make_unique<Listed>(nullptr);
  std::vector<ListedLaunch> listed;
  for (const PlannedLaunch& planned : launches)
    listed.push_back({dynamic_cast<OpenclProgram&>(*planned.program).prepared(), planned.waits, planned.signal});
  auto list = lists_->make_list(listed);
  if (list) lists_->compile(*list);
  return std::make_unique<Listed>(std::move(list));
}

// Launches the list if there is one. Otherwise programs are launched as a batch, with epochs counted from the base. A
// single program gains nothing from a batch that holds it back.
void OpenclDevice::launch(std::shared_ptr<const LaunchSequence> sequence, uint32_t base) {
  const auto* listed = static_cast<const Listed*>(sequence->built());
  if (listed && listed->list && lists_->launch(listed->list, base)) return;
  const bool several = listed || sequence->launches().size() > 1;
  if (several) launcher_->batch(true);
  for (const PlannedLaunch& planned : sequence->launches()) {
    const PlannedLaunch now = counted_from(base, planned);
    launcher_->launch(dynamic_cast<OpenclProgram&>(*now.program).prepared(), now.waits, now.signal);
  }
  if (several) launcher_->batch(false);
}

// Checks the operator's features, and that each slot fits the device's largest buffer.
Support OpenclDevice::supports(const Operator& op) const {
  if (Support features = gpu::supports_features(op); !features.yes) return features;
  if (const auto* top = std::get_if<TopK>(&op.body); top && top->k > 64) return {false, "top-k of more than 64"};
  const sync::Slot* too_large = nullptr;
  const auto look = [&](const Region& region, bool, bool) {
    const bool fits = !region.at || region.at.slot->size_bytes() <= static_cast<size_t>(info_.max_allocation_bytes);
    if (!fits) too_large = region.at.slot;
  };
  for_each_region(op, std::ref(look));  // planners ask this for every operator, so nothing is allocated
  if (too_large == nullptr) return {};
  return {false, "slot '" + too_large->label() + "' is larger than the device's largest buffer of " +
                     std::to_string(info_.max_allocation_bytes) + " bytes"};
}

}  // namespace

std::unique_ptr<Device> open_device_tuned(int index, const DeviceOptions& options, const Tuning& tuning) {
  // The environment must be set before the first OpenCL call.
  configure_process(options.gpu_cores.size());
  DeviceOptions careful = options;
  Handle handle = open_handle(index, careful.precautions);
  return std::make_unique<OpenclDevice>(index, std::move(handle), careful, tuning);
}

const cl::Context& context_of(const Device& device) { return dynamic_cast<const OpenclDevice&>(device).context(); }

uint32_t posted_lists(const Device& device) {
  const ListLauncher* lists = dynamic_cast<const OpenclDevice&>(device).lists();
  return lists ? lists->posted() : 0;
}

}  // namespace opencl

std::unique_ptr<Device> open_opencl_device(int index, const DeviceOptions& options) {
  return opencl::open_device_tuned(index, options, {});
}

}  // namespace tandem
