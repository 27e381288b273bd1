#include "engine/device/registry.h"

#include <charconv>
#include <optional>

#include "engine/device/host/host_device.h"
#include "engine/device/npu/npu_device.h"
#include "engine/device/opencl/opencl_device.h"
#include "engine/device/vulkan/vulkan_device.h"
#include "sync/error.h"

namespace tandem {
namespace {

struct DeviceId {
  std::string prefix;
  int index = 0;
};

// "opencl:1" or "opencl" (= opencl:0); nothing when the index is no number.
std::optional<DeviceId> parse(std::string_view id) {
  const size_t colon = id.find(':');
  DeviceId parsed{std::string(id.substr(0, colon))};
  if (colon == std::string_view::npos) return parsed;
  const std::string_view digits = id.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), parsed.index);
  if (error != std::errc() || end != digits.data() + digits.size() || parsed.index < 0) return std::nullopt;
  return parsed;
}

std::string joined(const std::vector<std::string>& ids) {
  std::string text;
  for (const std::string& id : ids) text += (text.empty() ? "" : ", ") + id;
  return text.empty() ? "none" : text;
}

}  // namespace

std::vector<DeviceFactory> device_factories() {
  return {
      {"opencl", "GPUs and CPU devices through OpenCL", opencl_device_count, open_opencl_device},
      {"vulkan", "GPUs and CPU devices through Vulkan", vulkan_device_count, open_vulkan_device},
      {"npu", "the emulated neural processing unit", npu_device_count, open_npu_device},
      {"host", "plain loops on the host's cores", host_device_count, open_host_device},
  };
}

std::unique_ptr<Device> open_device(std::string_view id, const DeviceOptions& options) {
  if (const auto parsed = parse(id))
    for (const DeviceFactory& factory : device_factories())
      if (parsed->prefix == factory.prefix && parsed->index < factory.count().all)
        return factory.open(parsed->index, options);
  throw Error("there is no such device", std::string(id), "available: " + joined(available_devices()));
}

std::unique_ptr<Device> open_host_on(Device& npu, const DeviceOptions& options) {
  return open_host_beside(npu_thread(npu), npu.info(), options);
}

std::vector<std::string> available_devices() {
  std::vector<std::string> gpus, others;
  for (const DeviceFactory& factory : device_factories()) {
    const DeviceCount count = factory.count();
    for (int index = 0; index < count.all; ++index) {
      std::string id = factory.prefix;
      if (id != "host") id.append(":").append(std::to_string(index));  // there is one host
      (index < count.gpus ? gpus : others).push_back(std::move(id));
    }
  }
  gpus.insert(gpus.end(), others.begin(), others.end());
  return gpus;
}

void configure_drivers(const DeviceOptions& options) {
  configure_opencl(options);
  configure_vulkan(options);
}

}  // namespace tandem
