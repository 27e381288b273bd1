// What devices keep on disk between runs: where, how a file is replaced, how damage shows.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace tandem::gpu {

std::string default_cache_folder();  // ${XDG_CACHE_HOME:-~/.cache}/tandem; empty when neither is set

uint64_t fnv1a(std::span<const char> bytes, uint64_t seed = 0xcbf29ce484222325u);

// Replaces the file whole or not at all (a temporary beside it, renamed), making its folder where needed. Returns why
// not, or "".
std::string replace_file(const std::string& path, std::initializer_list<std::span<const char>> parts) noexcept;

// Removes files of the folder, those that were written or marked_as_used() longest ago first, until the rest has no
// more bytes than that. Files with another end of their name do not count. How many it removed.
int keep_newest(const std::string& folder, uint64_t most_bytes, const std::string& suffix = "") noexcept;
void mark_as_used(const std::string& path) noexcept;  // once a day is enough

}  // namespace tandem::gpu
