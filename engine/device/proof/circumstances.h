// What a process may have lacked that ended: a place to write to, memory, time. Its end then says nothing about the
// driver that it was trying.
//
// Contract: looks at the machine as it is now; call it right after the end. Reads a few small files, and writes and
// removes one in each folder. Threads: any. Nothing here throws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/proof/child.h"

namespace tandem::proof {

struct Want {
  std::string what;    // "no space is left in /mnt/tandem"; empty: nothing was wanting
  std::string remedy;  // "Free some space there"
  explicit operator bool() const { return !what.empty(); }
};

// folders: where drivers and this program write. ChildEnd(): of a call that failed in this process.
Want want_behind(const ChildEnd& end, const std::vector<std::string>& folders);

// Of a folder alone, made where it is missing.
Want want_of_room(const std::string& folder);
// Of memory: a limit of this process, of its control group, or none available.
Want want_of_memory();

// Whether limits leave drivers the memory that they ask for. Some end a process that cannot give it.
Want want_of_driver_memory();

// A line for whoever reads later what was found: limits, memory and space of the moment.
std::string circumstances(const std::vector<std::string>& folders);

// Where drivers and this program write: the cache folder, PoCL's, and the one for temporary files.
std::vector<std::string> written_folders();

// Of PoCL, which keeps each kernel that it has compiled: POCL_CACHE_DIR, or its place in the user's cache.
std::string pocl_folder();

}  // namespace tandem::proof
