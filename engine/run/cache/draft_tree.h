// Checks and paths of trees of drafts (DraftTree).
//
// Contract: pure functions, except copy_cell().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/operators/kv_cache.h"
#include "tandem/sequence.h"

namespace tandem {

// Error if `parents` are not the parents of `tokens` tokens: their number differs, one does not come before its child,
// or the tree has too many tokens or too long a path.
void check_parents(std::span<const int32_t> parents, int64_t tokens);
// The path from the text to the token: its ancestors in order, then the token itself.
std::vector<int32_t> path_to(std::span<const int32_t> parents, int32_t token);
// Error unless the path begins directly behind the text, and each of its tokens is the parent of the next one.
void check_path(std::span<const int32_t> parents, std::span<const int32_t> path);

// Copies a cell's keys and values to another cell of the same cache, in the pool's memory.
void copy_cell(const KvCache& cache, int64_t from, int64_t to);

}  // namespace tandem
