// What opens one kind of device, and what devices are opened with.
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

// Told in words what takes seconds before it begins: compiling, measuring, keeping.
using OnLongWork = std::function<void(const std::string& what)>;

// What a device is told behind its id: "npu:0?params=FILE" (engine/device/device_id.h).
using DeviceParameters = std::map<std::string, std::string>;

struct DeviceOptions {
  std::vector<int> gpu_cores, npu_cores;   // layout of the host's cores (run/core_layout.h); empty: not pinned
  std::optional<KernelFamily> gpu_family;  // in the place of what the device reports (tests)
  bool force_copies = false;               // pretend memory is not shared (tests)
  sync::Policy sync_policy = sync::Policy::predict;
  std::chrono::milliseconds wait_deadline = sync::kWaitDeadline;  // of each wait
  int64_t listed_tokens = 1;   // OpenCL: passes of up to so many tokens are lists, if there are lists (list_launcher.h)
  std::string program_folder;  // where compiled OpenCL programs are kept between runs; empty: nowhere
  OnLongWork on_long_work;     // compiling and keeping programs
  Precautions precautions;     // steps of opening a GPU to be spared, beside those known of its driver
  DeviceParameters parameters;  // of the device that is opened; only such as its factory names
};

struct DeviceCount {
  int all = 0;   // that can be opened now
  int gpus = 0;  // of them real GPUs, which come first
};

struct DeviceFactory {
  const char* prefix;  // "opencl"
  DeviceKind kind;
  const char* explains;
  DeviceCount (*count)();  // none with no driver, never throws
  std::unique_ptr<Device> (*open)(int index, const DeviceOptions& options);
  std::vector<std::string> parameters{};  // names of those it takes
  bool numbered = true;                   // "npu:0"; else there is one, "host"
  // However often such a device is opened, the same workers run its kernels, on the cores that its driver was told.
  bool shares_workers = false;
  // Of a kind of GPU: the real ones that can be used, in their order; nullptr: nothing is known of them beforehand.
  std::vector<KnownGpu> (*known)() = nullptr;
};

}  // namespace tandem
