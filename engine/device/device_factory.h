// The function that opens one kind of device, and the options with which devices are opened.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/known_gpu.h"
#include "engine/device/proof/precautions.h"
#include "sync/waiter.h"

namespace tandem {

// Parameters behind a device's id: "npu:0?params=FILE" (engine/device/device_id.h).
using DeviceParameters = std::map<std::string, std::string>;

struct DeviceOptions {
  std::vector<int> gpu_cores, npu_cores;   // layout of the host's cores (run/core_layout.h); empty: not pinned
  std::optional<KernelFamily> gpu_family;  // replaces the family that the device reports (tests)
  bool force_copies = false;               // pretend that memory is not shared (tests)
  sync::Policy sync_policy = sync::Policy::predict;
  std::chrono::milliseconds wait_deadline = sync::kWaitDeadline;  // of each wait
  // OpenCL: passes of up to this many tokens are lists, if the device has lists (list_launcher.h).
  int64_t listed_tokens = 1;
  std::string program_folder;    // where compiled OpenCL programs are kept between runs; empty: they are not kept
  OnLongWork on_long_work;       // called for compiling and keeping programs
  Precautions precautions;       // steps to avoid when a GPU is opened, besides those known for its driver
  bool shares_core = false;      // another device of a thread of its own works on the same cores
  double link_gbps = 0;          // the link copies no faster, in 1e9 bytes a second; 0: it is not slowed down
  double host_slower = 1;        // products on the host take so many times as long
  int64_t link_fails_after = 0;  // so many copies of the link, the last of which fails (tests); 0: none
  DeviceParameters parameters;   // of the device that is opened; only names that its factory lists
};

struct DeviceCount {
  int all = 0;   // devices that can be opened now
  int gpus = 0;  // the real GPUs among them, which come first
};

struct DeviceFactory {
  const char* prefix;  // "opencl"
  DeviceKind kind;
  const char* explains;
  DeviceCount (*count)();  // {0, 0} without a driver; never throws
  std::unique_ptr<Device> (*open)(int index, const DeviceOptions& options);
  std::vector<std::string> parameters{};  // the names of the parameters that it accepts
  bool numbered = true;                   // "npu:0"; false: there is only one, "host"
  // Two open devices of this kind share the workers that run their kernels, on the cores that the driver uses.
  bool shares_workers = false;
  // For a kind of GPU: the real GPUs that can be used, in their order; nullptr: nothing is known before they
  // are opened.
  std::vector<KnownGpu> (*known)() = nullptr;
  // Indices below this number can be opened as well, although count() does not list them: units of an emulated kind.
  int most = 0;
};

}  // namespace tandem
