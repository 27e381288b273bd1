// The devices of this machine: what models and texts share, whichever they are.
//
// A machine owns the cores' layout, the memory that devices see, the devices, what runs plans on them, and what is
// known of their speed. Models are loaded onto it (engine/run/loaded_model.h), and engines run their texts
// (engine/run/engine.h).
//
// Contract
//   Devices are opened by open_devices(), which the first model to be loaded calls while its weights are read. Where a
//   GPU's kernels have yet to be compiled (wait_for_gpu()), the other devices begin, and the GPU joins between two
//   passes when all that was waited for is there: everybody who has something prepared on the devices lets go of it
//   before, and takes it up again after. A card with memory of its own has other sums than the host: it joins between
//   two texts, and runs everything alone where nobody names devices or a plan that needs others. Should one of them
//   fail, all go on with the devices that they had. Errors: a device that cannot be opened, two that do not see each
//   other's memory, a name that stands twice. Threads: one, the orchestrator's, for all of a machine's engines.
//   Ownership: engines and models share it; the last of them ends it, which keeps what was measured.
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
#include "engine/device/registry.h"
#include "engine/plan/strategy.h"
#include "engine/run/core_layout.h"
#include "engine/run/disk_cache.h"
#include "engine/run/executor.h"
#include "engine/run/machine_rates.h"
#include "engine/run/test_hooks.h"
#include "engine/run/timeline.h"
#include "engine/run/warming.h"
#include "sync/pool.h"
#include "sync/waiter.h"

namespace tandem {

struct MachineOptions {
  std::vector<std::string> devices;  // ids; empty: what the plan needs, the best GPU first
  int threads = 0;                   // cores to use; 0: all
  sync::Policy sync_policy = sync::Policy::predict;
  std::chrono::milliseconds wait_deadline = sync::kWaitDeadline;  // of a pass, and of each wait within it
  std::string program_folder;                                     // keeps compiled OpenCL programs; empty: nowhere
  std::optional<std::string> measurements;                        // file that keeps them; nothing: the user's cache
  OnLongWork on_long_work;                                        // keeping is told by the destructors
  // Passes of up to so many tokens are one launch each on a GPU that takes lists (device/opencl/list_launcher.h). More
  // than 1 compiles for longer, and is for many texts at once and for drafts.
  int64_t listed_tokens = 1;
  DeviceHooks device_hooks;
};

// An owner of programs that are prepared on a machine's devices. The machine calls it when its set of devices changes.
class DeviceUser {
 public:
  virtual ~DeviceUser() = default;
  // Whether texts keep their bits on these devices.
  virtual bool accepts(std::span<const DeviceInfo* const> devices) const = 0;
  virtual bool has_text() const = 0;             // whether a text has begun on the present devices
  virtual void release_prepared() noexcept = 0;  // before devices change
  virtual void rebuild() = 0;                    // after devices have changed; Error where that fails
};

class Machine {
 public:
  // plan: whose devices are opened where the options name none; nullptr: `auto`.
  explicit Machine(const MachineOptions& options, const Strategy* plan = nullptr);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // The card that texts run on where nobody names devices; nothing: there is none with memory of its own. Drivers that
  // were never tried are tried here, where the kernel offers what may be a card.
  std::optional<KnownGpu> card() const;
  // Before open_devices(), or while a GPU is waited for anyhow: its kernels are being compiled by another process.
  // note: for people. between_texts: it joins where nobody has a text, having other sums.
  void wait_for_gpu(std::unique_ptr<Warming> warming, const std::string& note, bool between_texts = false);
  // Before open_devices(): the card's kernels are compiled by this process, which marks that they are when a single
  // token has run.
  void compile_for_card(const KnownGpu& card, std::unique_ptr<Warming> warming, const std::string& note);
  bool compiles_for_card() const { return compiling_ != nullptr; }
  void compiled_for(double seconds) { compile_seconds_ += seconds; }
  double last_compile_seconds(const KnownGpu& card) const;  // 0: it is not known
  void ran_single_token();
  // Whether a card was opened alone because nobody named devices.
  bool card_is_alone() const;
  // Where it refuses one of these: opens the host beside it. Nobody has anything prepared.
  void add_host_for(std::span<const Operator> operators);
  bool waits_for_gpu() const { return !warming_.empty(); }
  void open_devices();
  bool is_open() const { return executor_ != nullptr; }
  // One look at the file system where a GPU is waited for, and nothing elsewhere. True: it has joined.
  bool admit_gpu_when_warm();

  std::span<const std::unique_ptr<Device>> devices() const { return devices_; }
  std::vector<const DeviceInfo*> infos() const;
  std::string device_names() const;         // "opencl:0,npu:0"
  Device* first_of(DeviceKind kind) const;  // nullptr: there is none
  bool zero_copy() const;                   // whether all devices work in the host's memory
  bool maps_files() const;                  // whether all devices read the pages of a mapped file
  const CoreLayout& layout() const { return layout_; }
  void take_orchestrators_core() const;                                         // for the calling thread
  const std::vector<std::string>& diagnostics() const { return diagnostics_; }  // fallbacks and choices, as text

  const OnLongWork& on_long_work() const { return options_.on_long_work; }

  sync::Pool& pool() { return pool_; }
  Executor& executor() { return *executor_; }
  MachineRates& rates() { return *rates_; }
  DiskCache& measurements() { return cache_; }
  void record(Timeline* timeline);  // spans of every pass; nullptr: stop

  void add_user(DeviceUser& user) { users_.push_back(&user); }
  void remove_user(DeviceUser& user) noexcept { std::erase(users_, &user); }

 private:
  struct Devices : std::vector<std::unique_ptr<Device>> {
    ~Devices() {
      while (!empty()) pop_back();  // the host may run on the NPU's thread
    }
  };
  std::unique_ptr<Device> open_one(const std::string& id) const;
  std::vector<std::string> default_devices();
  bool admit_gpu();
  bool admit_card(const std::string& id);
  void set_up();
  // Exchanges the devices, and prepares all users on the new ones. If that fails, a second call of `exchange` brings
  // the devices back, all users are prepared on those, and the error is thrown.
  void go_on_with(const std::function<void()>& exchange);
  void take_apart() noexcept;
  void put_together();

  const MachineOptions options_;
  const Strategy* const plan_;
  const CoreLayout layout_;
  DiskCache cache_;
  sync::Pool pool_;
  Devices devices_;
  DeviceOptions device_options_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<MachineRates> rates_;
  std::vector<std::unique_ptr<Warming>> warming_;  // while the GPU is waited for
  std::unique_ptr<Warming> compiling_;             // while this process compiles for a card
  std::string compile_key_;                        // of what that takes, on disk
  double compile_seconds_ = 0;
  bool joins_between_texts_ = false;
  std::vector<DeviceUser*> users_;
  std::vector<std::string> diagnostics_;
  Timeline* timeline_ = nullptr;
};

}  // namespace tandem
