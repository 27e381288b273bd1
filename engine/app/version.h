// What `tandem --version` prints: what people paste into a report.
//
// Contract: takes a few reads of files. It loads no driver and starts no process. Each fact that cannot be read is
// named as unknown.
#pragma once

#include <string>

namespace tandem::app {

// Lines: version and commit; compiler; processor and the loops chosen for it; the installed drivers of GPUs.
std::string version_text();

}  // namespace tandem::app
