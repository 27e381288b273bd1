// A tree of drafts: several ways in which a text may go on, whose tokens one pass runs (Engine::extend()), each of them
// behind its ancestors. What comes of them decides which path is kept (Engine::accept()).
//
// Contract: pure functions, but for copy_cell(). A tree's tokens are told by their index; a parent comes before its
// children.
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
  std::vector<int32_t> parents;  // of each token; -1: it follows the text
};

// Error where these are no parents of `tokens` tokens: another number of them, one that does not come before its child,
// more tokens or a longer path than there may be.
void check_parents(std::span<const int32_t> parents, int64_t tokens);
// A token behind all it goes on from, which is first.
std::vector<int32_t> path_to(std::span<const int32_t> parents, int32_t token);
// Error unless the path begins where the text ends and each token of it is the next one's parent.
void check_path(std::span<const int32_t> parents, std::span<const int32_t> path);

// Copies the keys and values of a position from one cell of a cache that the host sees to another one.
void copy_cell(const KvCache& cache, int64_t from, int64_t to);

}  // namespace tandem
