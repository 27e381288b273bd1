// A tree of drafts: several ways in which a text may continue. One pass runs all its tokens (Engine::extend()), each
// behind its ancestors. Their logits decide which path of the tree is accepted (TextCache::accept()).
//
// Contract: pure functions, except copy_cell(). A token of a tree is named by its index. A parent comes
// before its children.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/operators/kv_cache.h"

namespace tandem {

inline constexpr int64_t kMostDrafts = 64;     // tokens of a tree
inline constexpr int64_t kMostTreeDepth = 32;  // tokens of a path

struct DraftTree {
  std::vector<int32_t> ids;
  std::vector<int32_t> parents;  // one for each token; -1: the token follows the text
};

// Error if `parents` are not the parents of `tokens` tokens: their number differs, one does not come before its child,
// or the tree has too many tokens or too long a path.
void check_parents(std::span<const int32_t> parents, int64_t tokens);
// The path from the text to the token: its ancestors in order, then the token itself.
std::vector<int32_t> path_to(std::span<const int32_t> parents, int32_t token);
// Error unless the path begins directly behind the text, and each of its tokens is the parent of the next one.
void check_path(std::span<const int32_t> parents, std::span<const int32_t> path);

// Copies a cell's keys and values to another cell of the same cache. The host must see the cache's memory.
void copy_cell(const KvCache& cache, int64_t from, int64_t to);

}  // namespace tandem
