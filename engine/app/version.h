// What `tandem --version` prints: what people paste into a report.
//
// Contract: takes a few reads of files. It loads no driver and starts no process. Each fact that cannot be read is
// named as unknown.
#pragma once

#include <string>

namespace tandem::app {

// The commit that the program was built from: "1aa97eec0d3f", with "-dirty" for changed files; empty: unknown. Each
// build writes the source that defines it (cmake/EmbedCommit.cmake).
extern const char kCommit[];

// Lines: version and commit; compiler; processor and the loops chosen for it; the installed drivers of GPUs.
std::string version_text();

}  // namespace tandem::app
