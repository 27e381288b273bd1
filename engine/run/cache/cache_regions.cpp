#include "engine/run/cache/cache_regions.h"

#include <cstring>

namespace tandem {
namespace {

// The keys of a page, or its values.
Region region_of_page(const KvCache& cache, const Operand& heads, int64_t width, int64_t page) {
  const size_t bytes = cache.page_bytes(width);
  return {heads.advanced(static_cast<size_t>(page) * bytes), cache.kv_heads, bytes, cache.head_bytes(width)};
}

}  // namespace

std::vector<Region> regions_of_pages(std::span<const KvCache> caches, std::span<const int32_t> pages) {
  std::vector<Region> regions;
  for (const KvCache& cache : caches) {
    for (const int32_t page : pages) {
      regions.push_back(region_of_page(cache, cache.k, cache.head_dim, page));
      regions.push_back(region_of_page(cache, cache.v, cache.head_dim_v, page));
    }
  }
  return regions;
}

std::vector<SlotCopy> copies_of_page(std::span<const KvCache> caches, int32_t from, int32_t to) {
  const std::vector<Region> source = regions_of_pages(caches, std::span(&from, 1)),
                            target = regions_of_pages(caches, std::span(&to, 1));
  std::vector<SlotCopy> copies;
  for (size_t i = 0; i < source.size(); ++i) copies.push_back({source[i], target[i].at});
  return copies;
}

std::vector<SlotCopy> copies_of_cell(const KvCache& cache, int64_t from, int64_t to) {
  const size_t element = cache.element_bytes();
  const auto at = [element](const Operand& heads, int64_t index) {
    return heads.advanced(static_cast<size_t>(index) * element);
  };
  std::vector<SlotCopy> copies;
  for (int64_t head = 0; head < cache.kv_heads; ++head) {
    const auto step = static_cast<size_t>(cache.k_index(from, head, 1) - cache.k_index(from, head, 0)) * element;
    const auto width = static_cast<size_t>(cache.head_dim_v) * element;
    const Region key{at(cache.k, cache.k_index(from, head, 0)), cache.head_dim, element, step};
    const Region value{at(cache.v, cache.v_index(from, head, 0)), 1, width, width};
    copies.push_back({key, at(cache.k, cache.k_index(to, head, 0))});
    copies.push_back({value, at(cache.v, cache.v_index(to, head, 0))});
  }
  return copies;
}

void copy_in_pool(std::span<const SlotCopy> copies) {
  for (const auto& [from, to] : copies) {
    for (size_t row = 0; row < static_cast<size_t>(from.rows); ++row) {
      const size_t step = row * from.pitch_bytes;
      std::memcpy(to.as<std::byte>() + step, from.at.as<std::byte>() + step, from.width_bytes);
    }
  }
}

}  // namespace tandem
