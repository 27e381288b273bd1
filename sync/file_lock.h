// Waits for a lock on an open file that another process may hold (flock()).
//
// Contract: as LongWait. A wait of more than a second is reported, and an interrupt ends it with Interrupted. The lock
// ends when the file is closed. Threads: any.
#pragma once

#include <string>

namespace tandem {

// operation: LOCK_EX or LOCK_SH. holder: who may hold the lock, for users ("another process that tries the drivers").
// False: the system refuses the lock, and errno says why.
bool lock_file(int file, int operation, const std::string& holder);

}  // namespace tandem
