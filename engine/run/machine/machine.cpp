#include "engine/run/machine/machine.h"

#include <spdlog/fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/device/link/link_device.h"
#include "engine/device/pair_self_test.h"
#include "engine/plan/placer.h"
#include "sync/affinity.h"
#include "sync/error.h"

namespace tandem {
namespace {

// Whether the plan may run a part of a prompt or of an attention on the host core beside the NPU.
bool uses_host_beside_npu(const Strategy* strategy) {
  return strategy == nullptr || strategy->weighs_attention || strategy->expert_rules;
}

// While texts wait for a GPU, the host computes on the GPU's cores. The process that compiles for the GPU gets the
// rest of their time.
DeviceOptions for_gpu_cores(DeviceOptions options) {
  options.npu_cores.clear();
  return options;
}

// The host computes beside the GPU, on the other cores, if experts are copied.
DeviceOptions beside_gpu_cores(DeviceOptions options) {
  if (!options.npu_cores.empty()) options.gpu_cores.clear();
  return options;
}

// The devices of texts if there is no GPU.
std::vector<std::string> npu_and_host() { return {first_device(DeviceKind::npu), first_device(DeviceKind::host)}; }

// Key on disk of the time in seconds that one text's kernels took to compile for a card.
std::string compile_key(const KnownGpu& card) { return "compiles|" + card.id + "|" + card.name; }

// The note for users who named no devices. It says which card runs everything, and why this interface to the card.
std::string note_on(const KnownGpu& card) {
  std::string note =
      default_id(card) + " runs everything, without the NPU and the host: it is a card with memory of its own";
  for (const KnownGpu& other : known_gpus()) {
    spdlog::info("{}: {}, {}, discrete {}, shares memory {}, {} ways of waiting, {} units, first look {:.1f} us",
                 other.id, other.name, to_string(other.card), other.discrete, other.shares_memory, other.policies,
                 other.compute_units, other.look_seconds * 1e6);
    if (other.id != card.id && is_same_card(other, card))
      note += ". " + other.id + " leads to the same card; " + card.id + " is taken: " + why_preferred(card, other);
  }
  return note;
}

// Error unless both devices see each other's results, which a plan on both depends on.
void require_hand_over(Device& a, Device& b, sync::Pool& pool) {
  for (const PairTest& test : test_pair(a, b, pool)) {
    if (!test.passed)
      throw Error("two devices cannot work on one plan", test.from + " to " + test.to,
                  test.reason + ". Name one of them with --device");
  }
}

}  // namespace

// The layout of the cores decides who may spin. Devices are opened later, because a caller may still name a GPU that
// others wait for.
Machine::Machine(const MachineOptions& options, const Strategy* plan, std::vector<UnusableDevice> left_out)
    : options_(options),
      plan_(plan),
      left_out_(std::move(left_out)),
      layout_(lay_out_cores(usable_cores(), options.threads)),
      cache_(options.measurements ? *options.measurements : DiskCache::default_path()) {
  // The executor ends a pass at its deadline, whatever deadline the devices have. So theirs may be longer. It is at
  // least the bound of the self-tests, which run on these devices too.
  device_options_.wait_deadline = std::max<std::chrono::milliseconds>(options_.wait_deadline, kPairBound);
  device_options_.sync_policy = layout_.may_spin ? options_.sync_policy : sync::Policy::blocking;
  if (device_options_.sync_policy != options_.sync_policy)
    diagnostics_.push_back("there is one core: waits are blocking, not " + name_of(options_.sync_policy));
  device_options_.gpu_cores = layout_.gpu;
  device_options_.npu_cores = layout_.npu;
  device_options_.gpu_family = options_.device_hooks.gpu_family;
  device_options_.force_copies = options_.device_hooks.force_copies;
  if (options_.host_slower > 1)
    diagnostics_.push_back(fmt::format("products on the host are slowed down {:g} times", options_.host_slower));
  device_options_.link_gbps = options_.link_gbps;
  device_options_.shares_core = copies_experts();
  device_options_.host_slower = options_.host_slower;
  device_options_.link_fails_after = options_.device_hooks.link_fails_after;
  device_options_.listed_tokens = options_.listed_tokens;
  device_options_.program_folder = options_.program_folder;
  device_options_.on_long_work = options_.on_long_work;
}

Machine::~Machine() {
  try {
    if (rates_) rates_->store();
  } catch (const std::exception& error) {  // there is too little memory
    spdlog::warn("what was measured is not kept: {}", error.what());
  }
  cache_.save();
}

// The machine begins without the GPU whose kernels are compiled in another process. It joins when all are ready.
void Machine::wait_for_gpu(std::unique_ptr<Warming> warming, const std::string& note, bool is_card) {
  TANDEM_CHECK(!is_open() || waits_for_gpu(), "the GPU is there");
  if (!waits_for_gpu()) diagnostics_.push_back(note);
  waits_for_card_ = waits_for_card_ || is_card;
  warming_.push_back(std::move(warming));
}

bool holds_weights(const DeviceInfo& device, uint64_t bytes) {
  constexpr double kShareOfWeights = 0.9;
  if (device.zero_copy || device.memory_bytes <= 0) return true;
  return static_cast<double>(bytes) <= kShareOfWeights * static_cast<double>(device.memory_bytes);
}

// A card is looked for only if the user named no devices.
std::optional<KnownGpu> Machine::card() const {
  if (!may_have_card()) return std::nullopt;
  configure_drivers(device_options_);
  return default_card(left_out_);
}

void Machine::compile_for_card(const KnownGpu& card, std::unique_ptr<Warming> warming, const std::string& note) {
  TANDEM_CHECK(!is_open(), "the devices are open");
  diagnostics_.push_back(note);
  compile_key_ = compile_key(card);
  compiling_ = std::move(warming);
}

double Machine::last_compile_seconds(const KnownGpu& card) const {
  const auto kept = cache_.value(compile_key(card));
  return kept && kept->is_number() ? std::max(0.0, kept->get<double>()) : 0;
}

// A written token shows that all kernels of a text are compiled. The mark is set only then, and the compile time is
// kept for the prediction of later starts.
void Machine::ran_single_token() {
  if (!compiling_) return;
  compiling_->mark();
  compiling_.reset();
  spdlog::info("compiling for {} took {:.2f} s", device_names(), compile_seconds_);
  cache_.set(compile_key_, compile_seconds_);
}

// The devices for the plan if the user named none: the plan's only kind of device, for `auto` a card alone, and
// otherwise the best GPU with the NPU. The host comes third if the plan can use it beside the NPU. Without a GPU the
// host takes its place.
std::vector<std::string> Machine::default_devices() {
  const auto only_on = [&](DeviceRole role) { return plan_ && plan_->only == role; };
  const std::string npu = first_device(DeviceKind::npu), host = first_device(DeviceKind::host);
  if (only_on(DeviceRole::helper)) return {host};
  std::vector<UnusableDevice> unusable = unusable_devices();
  unusable.insert(unusable.end(), left_out_.begin(), left_out_.end());
  for (const UnusableDevice& one : unusable)
    diagnostics_.push_back(one.id + " (" + one.name + ") is left out: " + one.reason);
  const std::string gpu = best_gpu(left_out_);
  const std::optional<KnownGpu> card = default_card(left_out_);
  if (only_on(DeviceRole::general)) {
    if (card) return {default_id(*card)};
    if (gpu.empty())
      throw Error("no GPU device was found", std::string("plan ") + plan_->name,
                  "Install a driver: ./dev setup, or pocl-opencl-icd");
    return {gpu};
  }
  if (card && plan_ == nullptr) {
    diagnostics_.push_back(note_on(*card));
    return {default_id(*card)};
  }
  if (!gpu.empty() && uses_host_beside_npu(plan_)) return {gpu, npu, host};
  if (!gpu.empty()) return {gpu, npu};
  diagnostics_.push_back("no GPU device was found; the host's cores stand in for the GPU (install pocl-opencl-icd)");
  return {npu, host};
}

// A card's later texts are not rounded, and an NPU rounds. So the NPU takes no part in texts that a card joins.
std::vector<std::string> Machine::devices_before_gpu() const {
  if (waits_for_card_) return {first_device(DeviceKind::host)};
  return npu_and_host();
}

// Nobody has asked for this GPU, so texts go on without it if it cannot be opened.
std::unique_ptr<Device> Machine::open_default_gpu(std::vector<std::string>& names) {
  const std::string id = names.front();
  if (device_kind(id) != DeviceKind::gpu) return nullptr;
  try {
    return open_one(id);
  } catch (const Error& error) {
    diagnostics_.push_back(id + " is left out, because it cannot be opened: " + error.what());
    names = npu_and_host();
    return nullptr;
  }
}

// The GPU is the first of the default devices.
const DeviceInfo* Machine::default_gpu() const {
  if (!options_.devices.empty() || plan_ != nullptr || devices_.empty()) return nullptr;
  const DeviceInfo& first = devices_.front()->info();
  return first.kind == DeviceKind::gpu ? &first : nullptr;
}

// Threads of drivers inherit the cores of the thread that opens them.
void Machine::open_devices(const std::string& host_for) {
  orchestrator_.run([&] { open_devices_here(host_for); });
}

// Opens the devices in the order of their names, and tests each pair that works at the same time. Devices on one
// thread need no test.
void Machine::open_devices_here(const std::string& host_for) {
  TANDEM_CHECK(!is_open(), "the devices are open");
  while (!devices_.empty()) devices_.pop_back();  // devices of an earlier call that failed
  configure_drivers(device_options_);
  auto names = options_.devices;
  if (waits_for_gpu()) names = devices_before_gpu();
  if (names.empty()) names = in_place_of_card_;
  if (names.empty()) names = default_devices();
  std::unique_ptr<Device> gpu = options_.devices.empty() && plan_ == nullptr ? open_default_gpu(names) : nullptr;
  const auto is_host = [](const std::string& id) { return device_kind(id) == DeviceKind::host; };
  if (!host_for.empty() && std::ranges::none_of(names, is_host)) {
    names.push_back(first_device(DeviceKind::host));
    diagnostics_.push_back("the host is beside the other devices: " + host_for);
  }
  const auto is_unit = [](const std::string& id) { return device_kind(id) == DeviceKind::unit; };
  if (std::ranges::any_of(names, is_unit))
    diagnostics_.push_back("near-memory units are emulated on the host's cores: measured times say nothing about them");
  if (std::ranges::any_of(names, is_unit) && std::ranges::none_of(names, is_host)) {
    names.push_back(first_device(DeviceKind::host));
    diagnostics_.push_back(
        "the host is beside the near-memory units: it divides the experts, and adds their results up");
  }
  std::set<std::string> seen;
  for (const std::string& id : names) {
    devices_.push_back(gpu ? std::move(gpu) : open_one(id));
    if (!seen.insert(devices_.back()->info().id).second)  // "npu" and "npu:0?params=FILE" are one
      throw Error("a device is named twice", id, "Name each device once in --device");
    require_policy(devices_.back()->info(), device_options_.sync_policy);
  }
  if (copies_experts()) devices_.push_back(open_link(device_options_));
  std::vector<Device*> apart;  // devices with threads of their own
  for (const auto& device : devices_) {
    if (device->info().thread_of.empty()) apart.push_back(device.get());
  }
  for (size_t a = 0; a < apart.size(); ++a) {
    for (size_t b = a + 1; b < apart.size(); ++b) require_hand_over(*apart[a], *apart[b], pool_);
  }
  set_up();
}

// Beside a GPU the host leaves the GPU's cores alone. It works on the NPU's thread then, if the NPU shares its thread,
// or on that of the first near-memory unit. All units share one thread.
std::unique_ptr<Device> Machine::open_one(const std::string& id) const {
  const auto unit =
      std::ranges::find_if(devices_, [](const auto& device) { return device->info().near_memory.is_there(); });
  if (unit != devices_.end() && device_kind(id) == DeviceKind::unit) return open_unit_on(**unit, id, device_options_);
  if (device_factory(id).prefix != first_device(DeviceKind::host)) return open_device(id, device_options_);
  Device* npu = first_with(&DeviceInfo::static_graphs);
  if (first_with(&DeviceInfo::queued) && npu && npu->info().shares_thread) return open_host_on(*npu, device_options_);
  if (first_with(&DeviceInfo::queued) && unit != devices_.end()) return open_host_on(**unit, device_options_);
  if (copies_experts() && first_with(&DeviceInfo::queued)) return open_device(id, beside_gpu_cores(device_options_));
  const bool leaves_npu_cores = waits_for_gpu() && !waits_for_card_;
  return open_device(id, leaves_npu_cores ? for_gpu_cores(device_options_) : device_options_);
}

// Makes everything that depends on the set of devices: the executor, and the estimates of the devices' speed.
void Machine::set_up() {
  ExecutorOptions executor;
  executor.deadline = options_.wait_deadline;
  executor.sync_policy = device_options_.sync_policy;
  std::vector<Device*> borrowed;
  for (const auto& device : devices_) {
    borrowed.push_back(device.get());
    if (std::ranges::find(device->info().cores, layout_.orchestrator) != device->info().cores.end())
      executor.shares_core.push_back(device->info().id);
  }
  executor_ = std::make_unique<Executor>(pool_, borrowed, executor);
  executor_->record(timeline_);
  rates_ = std::make_unique<MachineRates>(devices_, cache_);
}

// The GPU joins when every set of kernels is compiled. A failure is a note for the user, unless the old devices could
// not go on either.
bool Machine::admit_gpu_when_warm() {
  const auto done = [](const std::unique_ptr<Warming>& each) { return each->done(); };
  if (!card_ && (warming_.empty() || !std::ranges::all_of(warming_, done))) return false;
  warming_.clear();
  try {
    if (!(card_ ? admit_card() : admit_gpu())) return false;
    spdlog::info("the GPU has joined in: {}", device_names());
    return true;
  } catch (const std::exception& error) {
    if (!executor_) throw;  // the devices that were here could not go on either
    diagnostics_.push_back(std::string("no GPU has joined in: ") + error.what());
    return false;
  }
}

// Opens the GPU, and the host on the NPU's thread in the place of the host on the GPU's cores. Most steps that may fail
// come before the present devices change. After a later failure everything is as it was.
bool Machine::admit_gpu() {
  const std::vector<std::string> names = default_devices();
  if (names.size() == 1 && device_kind(names.front()) == DeviceKind::gpu) {
    auto card = open_device(names.front(), device_options_);
    require_policy(card->info(), device_options_.sync_policy);
    card_ = std::move(card);
    return admit_card();
  }
  if (names.size() != 3) return false;  // no GPU: the NPU and the host
  std::unique_ptr<Device> gpu = open_device(names.front(), device_options_);
  Device& npu = *devices_.front();
  std::unique_ptr<Device> host = open_host_on(npu, device_options_);
  require_policy(gpu->info(), device_options_.sync_policy);
  require_policy(host->info(), device_options_.sync_policy);
  std::vector<const DeviceInfo*> with_gpu = infos();
  with_gpu.push_back(&gpu->info());
  // In the middle of a text a change of arithmetic would be visible.
  if (!std::ranges::all_of(users_, [&](const DeviceUser* user) { return user->accepts(with_gpu); })) {
    diagnostics_.push_back(gpu->info().id + " has other sums than the host: it takes part from the next start on");
    return false;
  }
  require_hand_over(*gpu, npu, pool_);
  Devices other;
  other.push_back(std::move(gpu));
  other.push_back(nullptr);          // the NPU's place
  other.push_back(std::move(host));  // its threads stay off the GPU's cores
  go_on_with([&] {
    std::swap(*(devices_.end() - 2), *(other.end() - 2));
    devices_.swap(other);
  });
  return true;
}

// Samples are stored first, because take_apart() ends the estimates. The new ones begin with the stored values.
void Machine::go_on_with(const std::function<void()>& exchange) {
  rates_->store();
  take_apart();
  exchange();
  try {
    put_together();
  } catch (...) {
    take_apart();
    exchange();
    put_together();
    throw;
  }
}

// Whatever refers to devices goes first: prepared plans, estimates, the executor.
void Machine::take_apart() noexcept {
  for (DeviceUser* user : users_) user->release_prepared();
  rates_.reset();
  executor_.reset();
}

void Machine::put_together() {
  set_up();
  for (DeviceUser* user : users_) user->rebuild();
}

// The card replaces the host. Texts go on there with the same bits; otherwise the card waits for their end.
bool Machine::admit_card() {
  const DeviceInfo* const alone[] = {&card_->info()};
  if (!std::ranges::all_of(users_, [&](const DeviceUser* user) { return user->fits(*alone[0]); })) {
    diagnostics_.push_back(alone[0]->id + " takes no part, because its memory does not hold the weights");
    card_.reset();
    return false;
  }
  const auto refuses = [&](const DeviceUser* user) { return user->has_text() && !user->accepts(alone); };
  if (std::ranges::any_of(users_, refuses)) return false;
  Devices other;
  other.push_back(std::move(card_));
  go_on_with([&] { devices_.swap(other); });
  return true;
}

void Machine::leave_memory_of_card(const std::string& why) {
  if (!users_.empty()) return;
  const std::string id = devices_.front()->info().id;
  const std::optional<KnownGpu> card = default_card(left_out_);
  const bool shares = card && card->id == id && card->shares_memory;
  diagnostics_.push_back(id + (shares ? " works in the host's memory: " : " is left out: ") + why);
  in_place_of_card_ = shares ? std::vector{id} : npu_and_host();
  take_apart();
  open_devices("");
}

// The host may be added only if it was the machine's own choice to leave it out.
bool Machine::card_is_alone() const {
  return options_.devices.empty() && plan_ == nullptr && devices_.size() == 1 && devices_.front()->info().queued;
}

// Tests the host with the card before the devices change. exchange() adds the host, and a second call takes it away.
void Machine::add_host_for(std::span<const Operator> operators) {
  const Device& card = *devices_.front();
  const auto refused = std::ranges::find_if(operators, [&](const Operator& op) { return !card.supports(op).yes; });
  if (refused == operators.end()) return;
  std::unique_ptr<Device> host = open_device(first_device(DeviceKind::host), device_options_);
  require_policy(host->info(), device_options_.sync_policy);
  require_hand_over(*devices_.front(), *host, pool_);
  diagnostics_.push_back("the host is beside " + card.info().id + ", which does not run " + kind_name(*refused) + ": " +
                         card.supports(*refused).reason);
  go_on_with([&] {
    if (host) {
      devices_.push_back(std::move(host));
    } else {
      host = std::move(devices_.back());
      devices_.pop_back();
    }
  });
}

// A thread that spins needs a core of its own. With one core, nobody spins.
void Machine::take_orchestrators_core() const {
  if (layout_.may_spin) pin_this_thread(std::vector{layout_.orchestrator});
}

bool Machine::maps_files() const {
  // Devices that are cores of this machine read any memory of the process. Drivers of other devices may refuse the
  // pages of a file (amdgpu does), or copy them. These devices get the packed weights in memory of the pool.
  return std::ranges::none_of(devices_,
                              [](const auto& device) { return device->info().queued && device->info().cores.empty(); });
}

bool Machine::fetches_experts() const {
  return std::ranges::any_of(devices_, [](const auto& device) {
    return device->supports(Operator{"", ExpertFetch{}}).yes;
  });
}

bool Machine::zero_copy() const {
  return std::ranges::all_of(devices_, [](const auto& device) { return device->info().zero_copy; });
}

// Keys and values of all layers lie on one device, if not all devices share the host's memory.
PrivateSlots* Machine::home_of_cache(const Plan& plan) const {
  if (zero_copy()) return nullptr;
  for (const Step& step : plan.steps) {
    if (std::ranges::none_of(step.operators, uses_cache)) continue;
    const std::string& id = plan.devices[static_cast<size_t>(step.device)];
    return (*std::ranges::find(devices_, id, [](const auto& device) { return device->info().id; }))->private_slots();
  }
  return nullptr;
}

Device* Machine::first_with(bool DeviceInfo::*property) const {
  for (const auto& device : devices_) {
    if (device->info().*property) return device.get();
  }
  return nullptr;
}

std::vector<const DeviceInfo*> Machine::infos() const {
  std::vector<const DeviceInfo*> infos;
  for (const auto& device : devices_) infos.push_back(&device->info());
  return infos;
}

std::string Machine::device_names() const {
  std::vector<std::string> names;
  for (const auto& device : devices_) names.push_back(device->info().id);
  return fmt::format("{}", fmt::join(names, ","));
}

void Machine::record(Timeline* timeline) {
  timeline_ = timeline;
  if (executor_) executor_->record(timeline);
}

std::vector<std::string> with_host_beside_npus(std::vector<std::string> devices) {
  const auto is_npu = [](const std::string& id) { return device_kind(id) == DeviceKind::npu; };
  if (!devices.empty() && std::ranges::all_of(devices, is_npu)) devices.push_back(first_device(DeviceKind::host));
  return devices;
}

std::shared_ptr<Machine> make_machine(const MachineOptions& options) { return std::make_shared<Machine>(options); }
std::string device_names(const Machine& machine) { return machine.device_names(); }

}  // namespace tandem
