// Opens devices by the names of --device: "opencl:0", "npu:0?params=FILE", "host".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device_factory.h"

namespace tandem {

// Every kind of device there is, in order of preference.
std::vector<DeviceFactory> device_factories();
// One more, from outside this library, behind the others: tests, and chips of somebody's own. Before any device is
// opened, by one thread.
void add_device_factory(const DeviceFactory& factory);

// Error lists what is there, or which parameters the device knows.
std::unique_ptr<Device> open_device(std::string_view id, const DeviceOptions& options);
// "host" on the thread of an open device that shares it (DeviceInfo::shares_thread) and outlives it: plans may give it
// what that device does not run.
std::unique_ptr<Device> open_host_on(Device& other, const DeviceOptions& options);
std::vector<std::string> available_devices();  // ids in order of preference: real GPUs, CPU devices, NPUs, the host

DeviceFactory device_factory(std::string_view id);  // that open_device() would use; Error when there is nothing like it
inline DeviceKind device_kind(std::string_view id) { return device_factory(id).kind; }
std::string first_device(DeviceKind kind);  // of the available ones; "": there is none
// The one that texts use: the first of the available ones, or a better interface to the same card (best_of()); "":
// none.
std::string best_gpu();
// The real GPUs that can be used, in order of preference.
std::vector<KnownGpu> known_gpus();
// The best GPU where it is a card with memory of its own; nothing: it is none.
std::optional<KnownGpu> default_card();
// False: the kernel offers no GPU that could be one. A few looks at the file system; no driver is loaded or tried.
bool may_have_card();

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
