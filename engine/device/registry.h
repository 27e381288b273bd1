// Opens devices by the names of --device: "opencl:0", "npu:0?params=FILE", "host".
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device_factory.h"
#include "tandem/model.h"  // available_devices()

namespace tandem {

// All kinds of devices, in order of preference.
std::vector<DeviceFactory> device_factories();
// Adds a kind from outside this library behind the others, for tests and for chips of a user's own. One thread calls
// this before any device is opened.
void add_device_factory(const DeviceFactory& factory);

// Error lists the available devices, or the parameters that the device knows.
std::unique_ptr<Device> open_device(std::string_view id, const DeviceOptions& options);
// Opens "host" on the thread of an open device that shares it (DeviceInfo::shares_thread) and outlives it. Plans may
// give the host the work that the other device does not run.
std::unique_ptr<Device> open_host_on(Device& other, const DeviceOptions& options);

// Opens another near-memory unit on the thread of an open one, which outlives it.
std::unique_ptr<Device> open_unit_on(Device& other, std::string_view id, const DeviceOptions& options);

DeviceFactory device_factory(std::string_view id);  // the one that open_device() would use; Error when no kind fits
inline DeviceKind device_kind(std::string_view id) { return device_factory(id).kind; }
std::string first_device(DeviceKind kind);  // the first available one; "": there is none

// A device that the program does not choose, with the reason.
struct UnusableDevice {
  std::string id, name, reason;
};
bool is_among(std::span<const UnusableDevice> devices, const std::string& id);

// The GPU for text generation: the first available one, or a better interface to the same card (best_of()). "": there
// is none. left_out: GPUs that are not chosen.
std::string best_gpu(std::span<const UnusableDevice> left_out = {});
// The real GPUs that can be used, in order of preference.
std::vector<KnownGpu> known_gpus();
// The best GPU if it is a card with its own memory; otherwise nothing. left_out as above.
std::optional<KnownGpu> default_card(std::span<const UnusableDevice> left_out = {});
// False: the kernel offers no GPU that could be such a card. Takes a few looks at the file system; no driver is loaded
// or tried.
bool may_have_card();

// Devices and whole drivers that exist here but end the process that uses them. The program never chooses them, and
// opening one is an Error. A child process finds them (proof/proof.h), once for each version of a driver.
std::vector<UnusableDevice> unusable_devices();
// Interfaces whose drivers could not be tried in a child process, each with the reason.
std::vector<std::string> untried_interfaces();

// Applies options.gpu_cores. A driver for CPU cores reads how many cores it may use only once, at its first call in the
// process. So call this before any other function here whose drivers should respect that option.
void configure_drivers(const DeviceOptions& options);

}  // namespace tandem
