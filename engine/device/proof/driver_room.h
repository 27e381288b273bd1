// A place for what PoCL compiles. It has no device where it cannot write, and ends the process when it cannot go on
// writing, or cannot run what it has written.
//
// Contract: where PoCL's own folder (proof/circumstances.h) is read-only, full, somebody else's or on a disk whose
// files are not run, this process and its children are given one of the user's own among the temporary files, by
// POCL_CACHE_DIR, and a warning says so once. Before the first OpenCL call; it changes the
// environment. Costs 0.1 ms, once.
#pragma once

namespace tandem::proof {

void make_room_for_pocl();

}  // namespace tandem::proof
