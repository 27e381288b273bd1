#include "engine/run/cache/draft_tree.h"

#include <algorithm>
#include <string>

#include "sync/error.h"

namespace tandem {
namespace {

// T has the size of an element. The keys of 16 positions are interleaved, so a key moves one element at a time.
// A value is one run.
template <typename T>
void copy_cell_of(const KvCache& cache, int64_t from, int64_t to) {
  auto *k = cache.k.as<T>(), *v = cache.v.as<T>();
  for (int64_t head = 0; head < cache.kv_heads; ++head) {
    for (int64_t i = 0; i < cache.head_dim; ++i) k[cache.k_index(to, head, i)] = k[cache.k_index(from, head, i)];
    std::copy_n(v + cache.v_index(from, head, 0), cache.head_dim_v, v + cache.v_index(to, head, 0));
  }
}

std::string described(int64_t token, int32_t parent) {
  return "token " + std::to_string(token) + ", its parent " + std::to_string(parent);
}

}  // namespace

// A token's depth is one more than its parent's. Parents come first, so one loop finds all depths.
void check_parents(std::span<const int32_t> parents, int64_t tokens) {
  if (std::ssize(parents) != tokens)
    throw Error("every token of a tree has a parent",
                std::to_string(parents.size()) + " parents of " + std::to_string(tokens) + " tokens");
  if (tokens > kMostDrafts)
    throw Error("a tree of drafts is too large",
                std::to_string(tokens) + " tokens of " + std::to_string(kMostDrafts) + " at most");
  std::vector<int64_t> depths;
  for (int64_t token = 0; token < tokens; ++token) {
    const int32_t parent = parents[static_cast<size_t>(token)];
    if (parent < -1 || parent >= token)
      throw Error("the parent of a draft does not come before it", described(token, parent),
                  "-1 is the end of the text");
    depths.push_back(parent < 0 ? 1 : depths[static_cast<size_t>(parent)] + 1);
    if (depths.back() > kMostTreeDepth)
      throw Error("a tree of drafts is too deep", described(token, parent),
                  "A path has " + std::to_string(kMostTreeDepth) + " tokens at most");
  }
}

// Follows parents from the token back to the text, and turns the list around.
std::vector<int32_t> path_to(std::span<const int32_t> parents, int32_t token) {
  std::vector<int32_t> path;
  for (int32_t at = token; at >= 0; at = parents[static_cast<size_t>(at)]) path.push_back(at);
  std::ranges::reverse(path);
  return path;
}

// A path begins at a child of the text's end, and each further token is a child of the one before it.
void check_path(std::span<const int32_t> parents, std::span<const int32_t> path) {
  int32_t before = -1;
  for (const int32_t token : path) {
    if (token < 0 || token >= std::ssize(parents))
      throw Error("a path has a token that is not of the tree",
                  std::to_string(token) + " of " + std::to_string(parents.size()));
    const int32_t parent = parents[static_cast<size_t>(token)];
    if (parent != before)
      throw Error("a path leaves its tree",
                  described(token, parent) + ", before it on the path " + std::to_string(before));
    before = token;
  }
}

void copy_cell(const KvCache& cache, int64_t from, int64_t to) {
  cache.type == KvType::f16 ? copy_cell_of<uint16_t>(cache, from, to) : copy_cell_of<float>(cache, from, to);
}

}  // namespace tandem
