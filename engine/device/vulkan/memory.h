// How the slots of the pool become Vulkan buffers: in place, or as copies with explicit transfers.
//
// Contract
//   buffer() imports a slot at its first use and keeps it until the memory is destroyed, which is before the pool is.
//   Shared: VK_EXT_external_memory_host over the whole slot, used only after the start-up test has shown that shaders
//   and host see each other's stores. Not shared: a device buffer, zeroed; what is copied goes through staging buffers
//   (prepared.h). Threads: one. Failure: Error when a slot is larger than the device allows for one allocation.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/device/vulkan/handle.h"
#include "sync/pool.h"

namespace tandem::vulkan {

struct Allocation {
  OwnedMemory memory;
  OwnedBuffer buffer;         // destroyed before its memory
  std::byte* data = nullptr;  // mapped, for host-visible memory
};

Allocation allocate_device(const Handle& handle, uint64_t bytes, const std::string& object);
Allocation allocate_staging(const Handle& handle, uint64_t bytes, const std::string& object);  // mapped and coherent
// Memory of the host as a buffer; Error when the pointer or the size do not have the device's alignment.
Allocation import_host(const Handle& handle, void* data, uint64_t bytes, const std::string& object);

class SlotMemory {
 public:
  SlotMemory(Handle& handle, bool shared) : handle_(handle), shared_(shared) {}
  bool shared() const { return shared_; }
  VkBuffer buffer(const sync::Slot& slot);

 private:
  struct Import {
    Allocation allocation;
    const std::byte* begin = nullptr;
    size_t bytes = 0;
  };
  Handle& handle_;
  bool shared_;
  std::map<uint64_t, Import> imports_;  // by slot id
};

}  // namespace tandem::vulkan
