#include "engine/device/vulkan/private_slots.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "engine/device/vulkan/commands.h"
#include "engine/device/vulkan/memory.h"
#include "sync/error.h"

namespace tandem::vulkan {
namespace {

constexpr std::chrono::seconds kDeadline(60);
constexpr uint64_t kMostStaged = 16 << 20;  // bytes at a time

// For errors.
std::string name_of(const Region& region, const Handle& handle) {
  return "slot '" + region.at.slot->label() + "' on " + handle.id();
}

// Bytes of a slot that follow each other.
struct Piece {
  const sync::Slot* slot = nullptr;
  uint64_t offset = 0, bytes = 0;
};

// All rows of the regions, in pieces that fit the staging buffer.
std::vector<Piece> pieces_of(std::span<const Region> regions) {
  std::vector<Piece> pieces;
  for (const Region& region : regions) {
    for (uint64_t row = 0; row < static_cast<uint64_t>(region.rows); ++row) {
      for (uint64_t at = 0; at < region.width_bytes; at += kMostStaged) {
        const uint64_t offset = region.at.offset_bytes + row * region.pitch_bytes + at;
        pieces.push_back({region.at.slot, offset, std::min<uint64_t>(kMostStaged, region.width_bytes - at)});
      }
    }
  }
  return pieces;
}

uint64_t bytes_of(std::span<const Piece> pieces) {
  uint64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes;
  return bytes;
}

// Returns the first pieces that fit the staging buffer together.
std::span<const Piece> first_of(std::span<const Piece> pieces) {
  uint64_t bytes = 0;
  size_t count = 0;
  while (count < pieces.size() && bytes + pieces[count].bytes <= kMostStaged) bytes += pieces[count++].bytes;
  return pieces.first(count);
}

// Calls visit(piece, its place in the staging buffer) for each piece.
void for_each_place(std::span<const Piece> pieces, const std::function<void(const Piece&, uint64_t)>& visit) {
  uint64_t place = 0;
  for (const Piece& piece : pieces) {
    visit(piece, place);
    place += piece.bytes;
  }
}

std::byte* in_pool(const Piece& piece) { return piece.slot->data() + piece.offset; }

// Calls part(pieces, staging) for parts that fit the staging buffer. The first use of a slot fills its buffer by
// commands of its own, so it comes before the copies are recorded.
void in_parts(const Handle& handle, const BufferOf& buffer_of, std::span<const Region> regions,
              const std::string& object, const std::function<void(std::span<const Piece>, const Allocation&)>& part) {
  for (const Region& region : regions) buffer_of(*region.at.slot);
  const std::vector<Piece> pieces = pieces_of(regions);
  const Allocation staging = allocate_staging(handle, std::min(kMostStaged, bytes_of(pieces)), object);
  for (std::span<const Piece> rest = pieces; !rest.empty();) {
    const std::span<const Piece> now = first_of(rest);
    part(now, staging);
    rest = rest.subspan(now.size());
  }
}

}  // namespace

void fetch_regions(Handle& handle, const BufferOf& buffer_of, std::span<const Region> regions) {
  if (regions.empty()) return;
  const std::string object = name_of(regions.front(), handle);
  in_parts(handle, buffer_of, regions, object, [&](std::span<const Piece> pieces, const Allocation& staging) {
    run_now(handle, object, kDeadline, [&](VkCommandBuffer commands) {
      full_barrier(handle, commands);
      for_each_place(pieces, [&](const Piece& piece, uint64_t place) {
        const VkBufferCopy region{piece.offset, place, piece.bytes};
        vkCmdCopyBuffer(commands, buffer_of(*piece.slot), staging.buffer.get(), 1, &region);
      });
    });
    for_each_place(pieces, [&](const Piece& piece, uint64_t place) {
      std::memcpy(in_pool(piece), staging.data + place, piece.bytes);
    });
  });
}

void store_regions(Handle& handle, const BufferOf& buffer_of, std::span<const Region> regions) {
  if (regions.empty()) return;
  const std::string object = name_of(regions.front(), handle);
  in_parts(handle, buffer_of, regions, object, [&](std::span<const Piece> pieces, const Allocation& staging) {
    for_each_place(pieces, [&](const Piece& piece, uint64_t place) {
      std::memcpy(staging.data + place, in_pool(piece), piece.bytes);
    });
    run_now(handle, object, kDeadline, [&](VkCommandBuffer commands) {
      full_barrier(handle, commands);
      for_each_place(pieces, [&](const Piece& piece, uint64_t place) {
        const VkBufferCopy region{place, piece.offset, piece.bytes};
        vkCmdCopyBuffer(commands, staging.buffer.get(), buffer_of(*piece.slot), 1, &region);
      });
    });
  });
}

// Each copy is one command. A barrier is between two, because a copy may read what an earlier one wrote.
void copy_regions(Handle& handle, const BufferOf& buffer_of, std::span<const SlotCopy> copies) {
  if (copies.empty()) return;
  const std::string object = name_of(copies.front().from, handle);
  for (const SlotCopy& copy : copies) buffer_of(*copy.from.at.slot);
  run_now(handle, object, kDeadline, [&](VkCommandBuffer commands) {
    std::vector<VkBufferCopy> rows;
    for (const auto& [from, to] : copies) {
      TANDEM_CHECK(from.at.slot == to.slot, "a copy within a slot");
      rows.clear();
      for (uint64_t row = 0; row < static_cast<uint64_t>(from.rows); ++row) {
        const uint64_t step = row * from.pitch_bytes;
        rows.push_back({from.at.offset_bytes + step, to.offset_bytes + step, from.width_bytes});
      }
      full_barrier(handle, commands);
      const VkBuffer buffer = buffer_of(*to.slot);
      vkCmdCopyBuffer(commands, buffer, buffer, static_cast<uint32_t>(rows.size()), rows.data());
    }
  });
}

}  // namespace tandem::vulkan
