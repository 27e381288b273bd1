// A place for what PoCL compiles. It has no device where it cannot write, and ends the process when it cannot go on
// writing, or cannot run what it has written.
//
// Contract: PoCL's own folder (proof/circumstances.h) may be read-only, full, another user's, or on a disk mounted with
// noexec. POCL_CACHE_DIR then leads this process and its children to a folder among the temporary files. A warning says
// so once. Call it before the first OpenCL call; it changes the environment. It costs 0.1 ms, once.
#pragma once

namespace tandem::proof {

void make_room_for_pocl();

}  // namespace tandem::proof
