#include "engine/device/registry.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "engine/device/host/host_device.h"
#include "engine/device/npu/npu_device.h"
#include "engine/device/opencl/opencl_device.h"
#include "engine/device/proof/proof.h"
#include "engine/device/vulkan/vulkan_device.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr proof::Api kApis[] = {proof::Api::opencl, proof::Api::vulkan};

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
  std::string hint = "available: " + joined(available_devices());
  for (const proof::Api api : kApis) {
    if (!id.starts_with(proof::name_of(api))) continue;
    for (const proof::Unusable& one : proof::unusable(api)) hint += "; " + one.id + " is left out: " + one.reason;
  }
  throw Error("there is no such device", std::string(id), hint);
}

std::unique_ptr<Device> open_host_on(Device& npu, const DeviceOptions& options) {
  return open_host_beside(npu_thread(npu), npu.info(), options);
}

std::string best_gpu() {
  for (const std::string& id : available_devices()) {
    if (id.starts_with("opencl") || id.starts_with("vulkan")) return id;
  }
  return "";
}

std::vector<UnusableDevice> unusable_devices() {
  std::vector<UnusableDevice> all;
  for (const proof::Api api : kApis) {
    for (const proof::Unusable& one : proof::unusable(api)) all.push_back({one.id, one.name, one.reason});
  }
  return all;
}

std::vector<std::string> untried_interfaces() {
  std::vector<std::string> all;
  for (const proof::Api api : kApis) {
    const proof::Verdict verdict = proof::verdict(api);
    if (!verdict.tried) all.push_back(std::string(proof::name_of(api)) + ": " + verdict.note);
  }
  return all;
}

std::vector<std::string> available_devices() {
  const std::vector<UnusableDevice> unusable = unusable_devices();
  std::vector<std::string> gpus, others;
  for (const DeviceFactory& factory : device_factories()) {
    const DeviceCount count = factory.count();
    for (int index = 0; index < count.all; ++index) {
      std::string id = factory.prefix;
      if (id != "host") id.append(":").append(std::to_string(index));  // there is one host
      if (std::ranges::any_of(unusable, [&](const UnusableDevice& one) { return one.id == id; })) continue;
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
