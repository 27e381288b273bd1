#include "engine/device/vulkan/memory.h"

#include "engine/device/vulkan/commands.h"
#include "sync/error.h"

namespace tandem::vulkan {
namespace {

// Shaders may use every buffer, and copies may read and write it.
constexpr VkBufferUsageFlags kUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

OwnedBuffer make_buffer(const Handle& handle, uint64_t bytes, const void* next, const std::string& object) {
  auto info = typed<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, next);
  info.size = bytes;
  info.usage = kUsage;
  return make<OwnedBuffer>(vkCreateBuffer, handle.device(), info, "vkCreateBuffer", object);
}

OwnedMemory allocate(const Handle& handle, uint64_t bytes, uint32_t type, const void* next, const std::string& object) {
  if (bytes > handle.limits().max_allocation) {
    throw Error("a buffer is larger than the device's largest allocation of " +
                    std::to_string(handle.limits().max_allocation) + " bytes",
                object, "Cut the tensor into shards, or use another device");
  }
  auto info = typed<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, next);
  info.allocationSize = bytes;
  info.memoryTypeIndex = type;
  return make<OwnedMemory>(vkAllocateMemory, handle.device(), info, "vkAllocateMemory", object);
}

// A buffer with memory of its own, of a kind that has these properties.
Allocation allocate_kind(const Handle& handle, uint64_t bytes, VkMemoryPropertyFlags properties,
                         const std::string& object) {
  Allocation made;
  made.buffer = make_buffer(handle, bytes, nullptr, object);
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(handle.device(), made.buffer.get(), &needs);
  made.memory = allocate(handle, needs.size, handle.memory_type(needs.memoryTypeBits, properties), nullptr, object);
  check(vkBindBufferMemory(handle.device(), made.buffer.get(), made.memory.get(), 0), "vkBindBufferMemory", object);
  return made;
}

}  // namespace

Allocation allocate_device(const Handle& handle, uint64_t bytes, const std::string& object) {
  return allocate_kind(handle, bytes, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, object);
}

// The memory stays mapped as long as it lives. It is coherent, so neither side flushes.
Allocation allocate_staging(const Handle& handle, uint64_t bytes, const std::string& object) {
  Allocation made =
      allocate_kind(handle, bytes, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, object);
  void* data = nullptr;
  check(vkMapMemory(handle.device(), made.memory.get(), 0, VK_WHOLE_SIZE, 0, &data), "vkMapMemory", object);
  made.data = static_cast<std::byte*>(data);
  return made;
}

// The buffer's requirements and the pointer's own decide together on the type of memory.
Allocation import_host(const Handle& handle, void* data, uint64_t bytes, const std::string& object) {
  const uint64_t alignment = handle.limits().import_alignment;
  if (alignment == 0) throw Error("the driver has no VK_EXT_external_memory_host", object);
  // Some drivers do not check the alignment themselves; lavapipe is one.
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0 || bytes % alignment != 0) {
    throw Error("host memory can be imported in multiples of " + std::to_string(alignment) + " bytes only", object);
  }
  auto pointer = typed<VkMemoryHostPointerPropertiesEXT>(VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT);
  check(handle.host_pointer_properties()(handle.device(), VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, data,
                                         &pointer),
        "vkGetMemoryHostPointerPropertiesEXT", object);
  auto external = typed<VkExternalMemoryBufferCreateInfo>(VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
  external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  Allocation made;
  made.buffer = make_buffer(handle, bytes, &external, object);
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(handle.device(), made.buffer.get(), &needs);
  if (needs.size > bytes) throw Error("a buffer over host memory would need more bytes than there are", object);
  auto import = typed<VkImportMemoryHostPointerInfoEXT>(VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
  import.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  import.pHostPointer = data;
  // The memory is coherent, because no part of this runtime flushes or invalidates memory.
  const uint32_t type =
      handle.memory_type(needs.memoryTypeBits & pointer.memoryTypeBits, VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  made.memory = allocate(handle, bytes, type, &import, object);
  check(vkBindBufferMemory(handle.device(), made.buffer.get(), made.memory.get(), 0), "vkBindBufferMemory", object);
  return made;
}

namespace {

// Slots start zeroed, and so must their buffers.
Allocation allocate_zeroed(Handle& handle, uint64_t bytes, const std::string& object) {
  Allocation made = allocate_device(handle, bytes, object);
  run_now(handle, object, std::chrono::seconds(60),
          [&](VkCommandBuffer commands) { vkCmdFillBuffer(commands, made.buffer.get(), 0, VK_WHOLE_SIZE, 0); });
  return made;
}

// Memory on the device. If it is optional, a device without room gives nothing.
std::optional<Allocation> allocate_own(const Handle& handle, uint64_t bytes, bool optional, const std::string& object) {
  try {
    return allocate_device(handle, bytes, object);
  } catch (const Error&) {
    if (!optional) throw;
    return std::nullopt;
  }
}

}  // namespace

VkBuffer SlotMemory::buffer(const sync::Slot& slot) { return import(slot).allocation.buffer.get(); }

// Nothing: the device has no copy of the slot that must be filled.
std::optional<WeightsCopy> SlotMemory::copy_of(const sync::Slot& weights) {
  const Import& one = import(weights);
  if (!one.state) return std::nullopt;
  return WeightsCopy{&weights, one.allocation.buffer.get(), one.state};
}

PartsCopy SlotMemory::parts_of(const sync::Slot& divided) {
  TANDEM_CHECK(!shared_, "a copy of its own");
  Import& one = import(divided);
  if (!one.parts) one.parts = std::make_shared<gpu::CopiedParts>();
  return {&divided, one.allocation.buffer.get(), one.parts};
}

// Weights get memory on the device if they should and if there is room. All other slots are imported in place, or
// copied if memory is not shared.
SlotMemory::Import& SlotMemory::import(const sync::Slot& slot) {
  const auto found = imports_.find(slot.id());
  if (found != imports_.end()) return found->second;
  const std::string object =
      "slot '" + slot.label() + "' (" + std::to_string(slot.size_bytes()) + " bytes) on " + handle_.id();
  // A pool that no longer exists may have left imports of memory that the system has since given to this slot.
  std::erase_if(imports_, [&](const auto& entry) {
    const Import& old = entry.second;
    return old.begin < slot.data() + slot.size_bytes() && slot.data() < old.begin + old.bytes;
  });
  Import import;
  import.begin = slot.data();
  import.bytes = slot.size_bytes();
  if (own_weights_ && slot.use() == sync::SlotUse::weights) {
    if (auto own = allocate_own(handle_, slot.size_bytes(), shared_, object)) {
      import.allocation = std::move(*own);
      import.state = std::make_shared<CopyState>();
    }
  }
  if (!import.state) {
    import.allocation = shared_ ? import_host(handle_, slot.data(), slot.size_bytes(), object)
                                : allocate_zeroed(handle_, slot.size_bytes(), object);
  }
  return imports_.emplace(slot.id(), std::move(import)).first->second;
}

}  // namespace tandem::vulkan
