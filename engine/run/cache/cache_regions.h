// Finds the keys and values of pages and cells in the slots of a KV cache.
//
// Contract: pure functions of the layout (engine/device/operators/kv_cache.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/operators/kv_cache.h"
#include "engine/device/private_slots.h"

namespace tandem {

// The pages of all caches: a row for each KV head.
std::vector<Region> regions_of_pages(std::span<const KvCache> caches, std::span<const int32_t> pages);
// Copies a page of all caches to another one.
std::vector<SlotCopy> copies_of_page(std::span<const KvCache> caches, int32_t from, int32_t to);
// Copies a cell's keys and values to another cell. An element of a key is a row, because positions lie side by side.
std::vector<SlotCopy> copies_of_cell(const KvCache& cache, int64_t from, int64_t to);

// Copies in the pool's memory.
void copy_in_pool(std::span<const SlotCopy> copies);

}  // namespace tandem
