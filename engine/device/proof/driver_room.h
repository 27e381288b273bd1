// Gives PoCL a folder for what it compiles.
//
// PoCL offers no device if it cannot write there. It ends the process if the disk fills up, or if compiled files there
// cannot be run.
//
// Contract: PoCL's own folder (proof/circumstances.h) may be read-only, full, another user's, or on a disk mounted with
// noexec. POCL_CACHE_DIR then leads this process and its children to a folder among the temporary files, and one
// warning says so. Call it before the first OpenCL call, because it changes the environment. Only the first call does
// anything; it takes 0.1 ms.
#pragma once

namespace tandem::proof {

void make_room_for_pocl();

}  // namespace tandem::proof
