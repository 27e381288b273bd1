// Finds out what a process lacked when it ended: a place to write to, memory, or time. Its end then says nothing about
// the driver that it was trying.
//
// Contract: the functions look at the machine as it is now, so call them right after the end. They read a few small
// files, and write and remove one in each folder. Threads: any. Nothing here throws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/proof/child.h"

namespace tandem::proof {

struct Want {
  std::string what;    // "no space is left in /mnt/tandem"; empty: nothing was lacking
  std::string remedy;  // "Free some space there"
  explicit operator bool() const { return !what.empty(); }
};

// Finds out what a process lacked that ended like this. folders: where drivers and this program write. ChildEnd()
// stands for a call that failed in this process.
Want want_behind(const ChildEnd& end, const std::vector<std::string>& folders);

// Looks at one folder only, and creates it if it is missing.
Want want_of_room(const std::string& folder);
// Looks at memory only: a limit of this process or of its control group, or none left on the machine.
Want want_of_memory();

// Whether limits leave drivers too little memory. Some drivers end a process that cannot give them what they ask for.
Want want_of_driver_memory();

// One line of limits, memory and free space of this moment, for a reader of the verdict's file.
std::string circumstances(const std::vector<std::string>& folders);

// The folders that drivers and this program write to: the cache folder, PoCL's, and the one for temporary files.
std::vector<std::string> written_folders();

// The folder in which PoCL keeps each kernel that it has compiled: POCL_CACHE_DIR, or its place in the user's cache.
std::string pocl_folder();

}  // namespace tandem::proof
