// Turns slots of the pool into Vulkan buffers: in place, or as copies with explicit transfers.
//
// Contract
//   buffer() imports a slot at its first use and keeps the buffer until this object is destroyed, which is before the
//   pool is.
//   Shared: the buffer covers the whole slot (VK_EXT_external_memory_host). This is used only after the start-up test
//   has shown that shaders and host see each other's stores.
//   Not shared: the buffer is the device's own, zeroed. Copies go through staging buffers (prepared.h).
//   A graphics card with memory of its own holds weights there, even if memory is shared, as long as its memory
//   suffices. Every pass reads them, and the bus to the host is many times slower.
//   Threads: one. Failure: Error when a slot is larger than the device allows for one allocation.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/device/gpu/regions.h"
#include "engine/device/gpu/row_pieces.h"
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
// A buffer over the host's memory. Error if the pointer or the size lacks the device's alignment.
Allocation import_host(const Handle& handle, void* data, uint64_t bytes, const std::string& object);

// The content of a copy of weights. Only the launcher's thread uses it.
struct CopyState {
  uint64_t filled = 0;              // Slot::times_acquired() at the last upload()
  gpu::RearrangedBytes rearranged;  // since then
};

// A slot of weights with a copy in the device's own memory.
struct WeightsCopy {
  const sync::Slot* slot = nullptr;
  VkBuffer buffer = VK_NULL_HANDLE;
  std::shared_ptr<CopyState> state;
};

// A divided slot with a copy in the device's own memory. Only the launcher's thread uses `parts`.
struct PartsCopy {
  const sync::Slot* slot = nullptr;
  VkBuffer buffer = VK_NULL_HANDLE;
  std::shared_ptr<gpu::CopiedParts> parts;
};

class SlotMemory {
 public:
  // own_weights: weights have copies of their own even if memory is shared.
  SlotMemory(Handle& handle, bool shared, bool own_weights)
      : handle_(handle), shared_(shared), own_weights_(own_weights || !shared) {}
  bool shared() const { return shared_; }
  bool own_weights() const { return own_weights_; }
  VkBuffer buffer(const sync::Slot& slot);
  std::optional<WeightsCopy> copy_of(const sync::Slot& weights);  // nothing: the slot is used in place
  PartsCopy parts_of(const sync::Slot& divided);                  // only if memory is not shared

 private:
  struct Import {
    Allocation allocation;
    std::shared_ptr<CopyState> state;         // set for weights that are copied
    std::shared_ptr<gpu::CopiedParts> parts;  // set for divided slots that are copied
    const std::byte* begin = nullptr;
    size_t bytes = 0;
  };
  Import& import(const sync::Slot& slot);

  Handle& handle_;
  bool shared_, own_weights_;
  std::map<uint64_t, Import> imports_;  // by slot id
};

}  // namespace tandem::vulkan
