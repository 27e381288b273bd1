// Copies parts of slots between the device's own memory and the pool's, through a staging buffer.
//
// Contract: as engine/device/private_slots.h, except that any thread may call it. Error when the device has no room for
// the staging buffer.
#pragma once

#include <functional>
#include <span>

#include "engine/device/private_slots.h"
#include "engine/device/vulkan/handle.h"

namespace tandem::vulkan {

using BufferOf = std::function<VkBuffer(const sync::Slot&)>;

void fetch_regions(Handle& handle, const BufferOf& buffer_of, std::span<const Region> regions);
void store_regions(Handle& handle, const BufferOf& buffer_of, std::span<const Region> regions);
void copy_regions(Handle& handle, const BufferOf& buffer_of, std::span<const SlotCopy> copies);

}  // namespace tandem::vulkan
