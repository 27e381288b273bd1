// The devices of this machine, which all models and texts share.
//
// A machine owns the devices and the memory that they see, and the layout of the cores. It also owns the executor that
// runs plans, and the estimates of the devices' speed. Models are loaded onto it (include/tandem/model.h),
// and engines run their texts (include/tandem/engine.h).
//
// Contract
//   Opening: open_devices() opens the devices. The first model that is loaded calls it while its weights are read.
//   A GPU that joins later: if a GPU's kernels are not compiled yet, texts begin on the other devices (wait_for_gpu()).
//   The GPU joins between two passes, when all kernels are there. Each DeviceUser releases its programs before the
//   devices change, and prepares them again afterwards. If that fails, all users continue on the devices that they had.
//   A card with memory of its own joins alone, in the place of the host. If its bits would differ from the host's, it
//   joins between two texts.
//   Errors: a device that cannot be opened, two devices that do not see each other's memory, a device
//   that is named twice.
//   Threads: devices are opened and engines run on a thread of the machine's own (engine/run/machine/orchestrator.h).
//   Other methods are for that thread, or for a caller while no engine of the machine runs.
//   Ownership: engines and models share the machine. The last of them destroys it, and its destructor
//   stores the measurements.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/known_gpu.h"
#include "engine/device/operator.h"
#include "engine/device/private_slots.h"
#include "engine/device/registry.h"
#include "engine/plan/plan.h"
#include "engine/plan/strategy.h"
#include "engine/run/choice/disk_cache.h"
#include "engine/run/choice/machine_rates.h"
#include "engine/run/machine/orchestrator.h"
#include "engine/run/machine/warming.h"
#include "engine/run/pass/core_layout.h"
#include "engine/run/pass/executor.h"
#include "engine/run/pass/timeline.h"
#include "sync/pool.h"
#include "sync/waiter.h"
#include "tandem/model.h"
#include "tandem/options.h"

namespace tandem {

// An owner of programs that are prepared on a machine's devices. The machine calls it when its set of devices changes.
class DeviceUser {
 public:
  virtual ~DeviceUser() = default;
  // Whether texts keep their bits on these devices.
  virtual bool accepts(std::span<const DeviceInfo* const> devices) const = 0;
  virtual bool fits(const DeviceInfo& card) const = 0;  // whether its memory holds what it would run alone
  virtual bool has_text() const = 0;                    // whether a text has begun on the present devices
  virtual void release_prepared() noexcept = 0;         // before devices change
  virtual void rebuild() = 0;                           // after devices have changed; may throw Error
};

// Whether a device's own memory holds so many bytes of weights. Texts, scratch and other programs need room as well.
bool holds_weights(const DeviceInfo& device, uint64_t bytes);

class Machine {
 public:
  // plan: the strategy whose devices are opened if the options name none; nullptr: `auto`. left_out: GPUs that are not
  // chosen by default.
  explicit Machine(const MachineOptions& options, const Strategy* plan = nullptr,
                   std::vector<UnusableDevice> left_out = {});
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // The card that texts run on if the user names no devices; nothing: there is no card with memory of its own. If the
  // kernel offers a GPU that may be a card, drivers that were never tried are tried now.
  std::optional<KnownGpu> card() const;
  // Says that another process compiles the GPU's kernels, so that the devices open without the GPU. Called before
  // open_devices(), or while texts already wait for a GPU. note: a text for the user. is_card: the GPU will run
  // everything alone, so the host alone begins.
  void wait_for_gpu(std::unique_ptr<Warming> warming, const std::string& note, bool is_card = false);
  // Says that this process compiles the card's kernels. It marks them as compiled when a single token has run. Called
  // before open_devices().
  void compile_for_card(const KnownGpu& card, std::unique_ptr<Warming> warming, const std::string& note);
  bool compiles_for_card() const { return compiling_ != nullptr; }
  // Adds to the time that compiling for the card takes, which ran_single_token() stores on disk.
  void compiled_for(double seconds) { compile_seconds_ += seconds; }
  double last_compile_seconds(const KnownGpu& card) const;  // 0: unknown
  void ran_single_token();
  // Whether a card is open alone because the user named neither devices nor a plan.
  bool card_is_alone() const;
  // Opens the host beside the card if the card refuses one of these operators. The calling engine has prepared nothing
  // yet; other users are prepared again.
  void add_host_for(std::span<const Operator> operators);
  // The card that is alone works in the host's memory from now on, if its driver shares that. Else the host's cores
  // take its place. Nothing happens if engines use the machine. why: for a note.
  void leave_memory_of_card(const std::string& why);
  const DeviceInfo* default_gpu() const;  // that is open though the user named no devices and no plan; or nullptr
  bool waits_for_gpu() const { return !warming_.empty() || card_; }
  // host_for: why the host is needed too ("it fetches experts"); empty: it is not.
  void open_devices(const std::string& host_for = "");
  bool is_open() const { return executor_ != nullptr; }
  // Lets a GPU join if its kernels are compiled. Takes one look at the file system while texts wait for a GPU, else no
  // time. Returns whether the GPU has joined.
  bool admit_gpu_when_warm();

  std::span<const std::unique_ptr<Device>> devices() const { return devices_; }
  std::vector<const DeviceInfo*> infos() const;
  std::string device_names() const;                      // "opencl:0,npu:0"
  Device* first_with(bool DeviceInfo::*property) const;  // nullptr: there is no such device
  bool zero_copy() const;                                // whether all devices work in the host's memory
  PrivateSlots* home_of_cache(const Plan& plan) const;   // where its attention reads keys; nullptr: the pool
  bool fetches_experts() const;                          // whether a device runs ExpertFetch
  // Whether experts are copied into slots (MachineOptions::expert_copies). The link is then the last device.
  bool copies_experts() const { return options_.expert_copies || options_.link_gbps > 0; }
  double link_gbps() const { return options_.link_gbps; }
  double host_slower() const { return options_.host_slower; }
  double disk_gbps() const { return options_.disk_gbps; }
  bool maps_files() const;  // whether all devices read the pages of a mapped file
  const CoreLayout& layout() const { return layout_; }
  // The thread on which engines run. No other thread is pinned, unless it calls take_orchestrators_core(): a program
  // that uses the executor itself does so.
  Orchestrator& orchestrator() { return orchestrator_; }
  void take_orchestrators_core() const;  // pins the calling thread
  // Texts for users: fallbacks and choices.
  const std::vector<std::string>& diagnostics() const { return diagnostics_; }

  const OnLongWork& on_long_work() const { return options_.on_long_work; }

  sync::Pool& pool() { return pool_; }
  Executor& executor() { return *executor_; }
  MachineRates& rates() { return *rates_; }
  DiskCache& measurements() { return cache_; }
  void record(Timeline* timeline);  // adds the spans of every pass to it; nullptr: no longer

  void add_user(DeviceUser& user) { users_.push_back(&user); }
  void remove_user(DeviceUser& user) noexcept { std::erase(users_, &user); }

 private:
  struct Devices : std::vector<std::unique_ptr<Device>> {
    ~Devices() {
      while (!empty()) pop_back();  // the last one first, because the host may run on the NPU's thread
    }
  };
  std::unique_ptr<Device> open_one(const std::string& id) const;
  std::vector<std::string> default_devices();
  std::vector<std::string> devices_before_gpu() const;
  std::unique_ptr<Device> open_default_gpu(std::vector<std::string>& names);
  bool admit_gpu();
  bool admit_card();
  void open_devices_here(const std::string& host_for);
  void set_up();
  // Exchanges the devices and prepares all users on the new ones. If that fails, a second call of `exchange` brings the
  // old devices back. All users are then prepared on those, and the error is thrown.
  void go_on_with(const std::function<void()>& exchange);
  void take_apart() noexcept;
  void put_together();

  const MachineOptions options_;
  const Strategy* const plan_;
  const std::vector<UnusableDevice> left_out_;
  const CoreLayout layout_;
  DiskCache cache_;
  sync::Pool pool_;
  Orchestrator orchestrator_;
  Devices devices_;
  DeviceOptions device_options_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<MachineRates> rates_;
  std::vector<std::unique_ptr<Warming>> warming_;  // sets of kernels that texts wait for
  std::unique_ptr<Warming> compiling_;             // only while this process compiles for a card
  std::string compile_key_;                        // key of compile_seconds_ on disk
  double compile_seconds_ = 0;
  std::vector<std::string> in_place_of_card_;  // devices; empty: the default ones
  bool waits_for_card_ = false;
  std::unique_ptr<Device> card_;  // is open and waits until no text would change its bits
  std::vector<DeviceUser*> users_;
  std::vector<std::string> diagnostics_;
  Timeline* timeline_ = nullptr;
};

// An NPU alone runs no whole model. So the host comes behind devices that are all NPUs. Others stay as they are.
std::vector<std::string> with_host_beside_npus(std::vector<std::string> devices);

}  // namespace tandem
