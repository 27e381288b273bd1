// Opens devices by the names of --device: "opencl:0", "npu:0", "host".
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/proof/precautions.h"

namespace tandem {

// Told in words what takes seconds before it begins: compiling, measuring, keeping.
using OnLongWork = std::function<void(const std::string& what)>;

struct DeviceOptions {
  std::vector<int> gpu_cores, npu_cores;  // layout of the host's cores (run/core_layout.h); empty: not pinned
  std::string gpu_family;                 // "", "simd", "simt": override what the device reports (tests)
  bool force_copies = false;              // pretend memory is not shared (tests)
  std::string sync_policy = "predict";    // one of sync::waiter_names(); docs/sync.md
  std::string npu_params;                 // parameter file (JSON); empty: the built-in one
  std::string program_folder;             // where compiled OpenCL programs are kept between runs; empty: nowhere
  OnLongWork on_long_work;                // compiling and keeping programs
  Precautions precautions;                // steps of opening a GPU to be spared, beside those known of its driver
};

struct DeviceCount {
  int all = 0;   // that can be opened now
  int gpus = 0;  // of them real GPUs, which come first
};

struct DeviceFactory {
  const char* prefix;  // "opencl"
  const char* explains;
  DeviceCount (*count)();  // none with no driver, never throws
  std::unique_ptr<Device> (*open)(int index, const DeviceOptions& options);
};

std::vector<DeviceFactory> device_factories();
std::unique_ptr<Device> open_device(std::string_view id, const DeviceOptions& options);  // Error lists what is there
// "host" on the thread of an open NPU, which outlives it: plans may give it what the array does not run.
std::unique_ptr<Device> open_host_on(Device& npu, const DeviceOptions& options);
std::vector<std::string> available_devices();  // ids in order of preference: real GPUs, CPU devices, NPUs, the host

std::string best_gpu();  // the first of them that is a GPU; "": there is none

// Devices and whole drivers that are here, and end the process that uses them: nothing chooses them, and opening one is
// an Error. That is found out in a child process (proof/proof.h), once for each version of a driver.
struct UnusableDevice {
  std::string id, name, reason;
};
std::vector<UnusableDevice> unusable_devices();
// Interfaces whose drivers could not be tried in a child process: each with the reason.
std::vector<std::string> untried_interfaces();

// Drivers for CPU cores read how many they may use once, at their first call in the process: this goes before any other
// function here that is to respect options.gpu_cores.
void configure_drivers(const DeviceOptions& options);

}  // namespace tandem
