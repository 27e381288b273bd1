#include "engine/device/opencl/platform.h"

#include <stdlib.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <thread>

#include "engine/device/opencl/card.h"
#include "engine/device/opencl/opencl_device.h"
#include "engine/device/proof/driver_room.h"
#include "engine/device/proof/kept_lists.h"
#include "engine/device/proof/proof.h"
#include "sync/long_wait.h"

namespace tandem {
namespace opencl {

// PoCL takes its settings from the environment, so they are set before the driver is loaded. Without another wish it
// gets half of the cores as workers.
void configure_process(size_t workers) {
  static std::once_flag once;
  std::call_once(once, [workers] {
    const size_t half = std::max<size_t>(1, std::thread::hardware_concurrency() / 2);
    // The last argument 0 keeps the user's own value.
    setenv("POCL_MAX_PTHREAD_COUNT", std::to_string(workers ? workers : half).c_str(), 0);
    // Worker i is pinned to core i. PoCL ends the process if there is no such core.
    if (std::strtoul(getenv("POCL_MAX_PTHREAD_COUNT"), nullptr, 10) <= std::thread::hardware_concurrency())
      setenv("POCL_AFFINITY", "1", 0);
    setenv("POCL_SIGFPE_HANDLER", "0", 0);
  });
}

// The order of calls matters: variables are set and fatal drivers are hidden before the loader is used.
std::vector<FoundDevice> find_devices(std::string* failures) {
  configure_process(0);
  proof::make_room_for_pocl();
  // The verdict hides drivers from the loader that would end this process.
  if (!proof::verdict(proof::Api::opencl).may_load) return {};
  std::vector<cl::Platform> platforms;
  const cl_int code = [&] {
    const proof::KeptLists kept;  // the loader cuts lists that child processes need
    return cl::Platform::get(&platforms);
  }();
  if (code == -1001) return {};  // no driver is registered with the loader
  check(code, "clGetPlatformIDs", "the OpenCL loader");
  std::vector<FoundDevice> gpus, others;
  for (const cl::Platform& platform : platforms) {
    std::vector<cl::Device> devices;
    const cl_int listed = platform.getDevices(CL_DEVICE_TYPE_ALL, &devices);
    if (listed != CL_SUCCESS && listed != CL_DEVICE_NOT_FOUND && failures) {
      *failures += (failures->empty() ? "" : "; ") + platform.getInfo<CL_PLATFORM_NAME>() +
                   " does not list its devices: clGetDeviceIDs failed with " + code_name(listed);
    }
    if (listed != CL_SUCCESS) continue;  // CL_DEVICE_NOT_FOUND: an empty platform
    for (const cl::Device& device : devices) {
      const bool cpu = is_cpu(device);
      (cpu ? others : gpus).push_back({platform, device});
    }
  }
  // GPUs come first, so index 0 is a GPU if there is one. The loader's order stays within both kinds.
  gpus.insert(gpus.end(), others.begin(), others.end());
  return gpus;
}

// The driver's version is part of the identity, so that an update leads to a new trial.
std::vector<proof::Identity> identities(const std::vector<FoundDevice>& found) {
  std::vector<proof::Identity> all;
  for (const FoundDevice& one : found) {
    const bool gpu = !is_cpu(one.device);
    all.push_back({one.device.getInfo<CL_DEVICE_NAME>(),
                   one.platform.getInfo<CL_PLATFORM_NAME>() + " " + one.device.getInfo<CL_DRIVER_VERSION>(), gpu,
                   gpu ? card_of(one.device) : CardName(), gpu && is_discrete(one.device)});
  }
  return all;
}

}  // namespace opencl

std::vector<proof::Identity> opencl_identities() {
  try {
    return opencl::identities(opencl::find_devices());
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    return {};
  }
}

// Lists the devices, which loads their drivers.
DeviceCount opencl_device_count() {
  try {
    const auto found = opencl::find_devices();
    const auto gpus =
        std::ranges::count_if(found, [](const opencl::FoundDevice& one) { return !opencl::is_cpu(one.device); });
    return {static_cast<int>(found.size()), static_cast<int>(gpus)};
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    return {};  // the driver is broken; opening a device says why
  }
}

std::string opencl_listing_failure() {
  std::string failures;
  try {
    opencl::find_devices(&failures);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  }
  return failures;
}

std::vector<KnownGpu> known_opencl_gpus() { return proof::known_gpus(proof::Api::opencl, opencl_identities); }

void configure_opencl(const DeviceOptions& options) { opencl::configure_process(options.gpu_cores.size()); }

}  // namespace tandem
