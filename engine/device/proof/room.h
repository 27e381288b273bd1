// Whether anything can be kept for the next start, and that it cannot, said once.
//
// Threads: any. Nothing here throws.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::proof {

// Why nothing can be kept in the folder, with its name and the system's reason: it is read-only, or somebody else's, or
// has less than kLeastRoom left. "": it can. Makes the folder, and writes and removes a small file there.
std::string why_not_kept(const std::string& folder) noexcept;
inline constexpr uint64_t kLeastRoom = uint64_t{4} << 20;  // what is compiled for one model takes 1 to 20 MB

// Of the user's cache folder, or that there is none.
std::string why_nothing_is_kept() noexcept;

// `what` could not be kept: a warning, once in a process. What else cannot be kept after it is logged as information.
void say_not_kept(const std::string& what, const std::string& why) noexcept;
std::string not_kept() noexcept;  // the first reason that was said; "": everything was kept

}  // namespace tandem::proof
