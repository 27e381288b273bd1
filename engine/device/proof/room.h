// Finds out whether files can be kept for the next start, and warns once if they cannot.
//
// Contract: folders are paths. A reason is a text for the user; "" means that there is none. Threads: any. Nothing
// here throws.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::proof {

// Why nothing can be kept in the folder: its name and the system's reason. It may be read-only, belong to another
// user, or have less than kLeastRoom left. "": files can be kept. Creates the folder, and writes and removes a small
// file there.
std::string why_not_kept(const std::string& folder) noexcept;
inline constexpr uint64_t kLeastRoom = uint64_t{4} << 20;  // what is compiled for one model takes 1 to 20 MB

// The same for the user's cache folder, or that the user has none.
std::string why_nothing_is_kept() noexcept;

// The folder for files that end with the process: TMPDIR, or /tmp if TMPDIR names no folder.
std::string temporary_folder() noexcept;
// The advice if files cannot be written there.
inline constexpr const char* kTemporaryAdvice =
    "Free some space in the folder for temporary files, or name another one by TMPDIR";

// Logs that `what` could not be kept. The first call of a process logs a warning, all later calls log information.
void say_not_kept(const std::string& what, const std::string& why) noexcept;
std::string not_kept() noexcept;  // reason of the first call of say_not_kept(); "": there was no call

}  // namespace tandem::proof
