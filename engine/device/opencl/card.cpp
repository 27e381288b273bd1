#include "engine/device/opencl/card.h"

#include <CL/cl_ext.h>

#include <array>
#include <optional>
#include <string>

namespace tandem::opencl {
namespace {

// Queries of cl_nv_device_attribute_query. Debian's headers have only some of them.
constexpr cl_device_info kPciBusNv = 0x4008, kPciSlotNv = 0x4009, kPciDomainNv = 0x400A;
// The answer of cl_amd_device_attribute_query: a type, 17 unused bytes, bus, device and function.
constexpr cl_uint kTopologyOfPci = 1;
struct Topology {
  cl_uint type = 0;
  std::array<cl_uchar, 17> unused{};
  cl_uchar bus = 0, device = 0, function = 0;
};
static_assert(sizeof(Topology) == 24);

// Nothing: the driver does not know the query, or its answer has another size.
template <typename T>
std::optional<T> ask(const cl::Device& device, cl_device_info what) {
  T value{};
  size_t bytes = 0;
  const bool told = clGetDeviceInfo(device(), what, sizeof value, &value, &bytes) == CL_SUCCESS;
  return told && bytes == sizeof value ? std::optional(value) : std::nullopt;
}

std::string nvidia_pci(const cl::Device& device) {
  const auto bus = ask<cl_uint>(device, kPciBusNv), slot = ask<cl_uint>(device, kPciSlotNv);
  if (!bus || !slot) return "";
  // NVIDIA's slot holds the device in its upper five bits and the function in its lower three.
  return pci_text(ask<cl_uint>(device, kPciDomainNv).value_or(0), *bus, *slot >> 3, *slot & 7);
}

std::string amd_pci(const cl::Device& device) {
  const auto place = ask<Topology>(device, CL_DEVICE_TOPOLOGY_AMD);
  return place && place->type == kTopologyOfPci ? pci_text(0, place->bus, place->device, place->function) : "";
}

}  // namespace

bool is_cpu(const cl::Device& device) { return (device.getInfo<CL_DEVICE_TYPE>() & CL_DEVICE_TYPE_CPU) != 0; }

// Standard extensions come first, and the vendors' own queries fill in a missing PCI address.
CardName card_of(const cl::Device& device) {
  const std::string extensions = device.getInfo<CL_DEVICE_EXTENSIONS>();
  const auto has = [&](const char* name) { return extensions.find(name) != std::string::npos; };
  CardName card;
  if (has("cl_khr_device_uuid")) {
    if (const auto uuid = ask<std::array<uint8_t, CL_UUID_SIZE_KHR>>(device, CL_DEVICE_UUID_KHR))
      card.uuid = uuid_text(*uuid);
  }
  if (has("cl_khr_pci_bus_info")) {
    if (const auto at = ask<cl_device_pci_bus_info_khr>(device, CL_DEVICE_PCI_BUS_INFO_KHR))
      card.pci = pci_text(at->pci_domain, at->pci_bus, at->pci_device, at->pci_function);
  }
  if (card.pci.empty() && has("cl_nv_device_attribute_query")) card.pci = nvidia_pci(device);
  if (card.pci.empty() && has("cl_amd_device_attribute_query")) card.pci = amd_pci(device);
  return card;
}

// OpenCL has no query for cards. A GPU that reports no memory in common with the host counts as one.
bool is_discrete(const cl::Device& device) {
  const bool gpu = (device.getInfo<CL_DEVICE_TYPE>() & CL_DEVICE_TYPE_GPU) != 0;
  return gpu && !device.getInfo<CL_DEVICE_HOST_UNIFIED_MEMORY>();
}

}  // namespace tandem::opencl
