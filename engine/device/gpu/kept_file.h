// Files that devices keep on disk between runs: their folder, their replacement and a hash that shows damage.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace tandem::gpu {

std::string default_cache_folder();  // ${XDG_CACHE_HOME:-~/.cache}/tandem; empty when neither is set

uint64_t fnv1a(std::span<const char> bytes, uint64_t seed = 0xcbf29ce484222325u);

// Replaces the file whole or not at all: writes a temporary beside it and renames that. Makes the folder if needed.
// Returns the reason of a failure, or "".
std::string replace_file(const std::string& path, std::initializer_list<std::span<const char>> parts) noexcept;

// Removes files of the folder until the rest has at most `most_bytes`. It begins with those whose last write or
// mark_as_used() was longest ago. Only files whose names end with `suffix` count. Returns how many it removed.
int keep_newest(const std::string& folder, uint64_t most_bytes, const std::string& suffix = "") noexcept;
void mark_as_used(const std::string& path) noexcept;  // writes at most once a day

}  // namespace tandem::gpu
