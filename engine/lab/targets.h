// The project's targets for its waiting policies, judged by the figures of one run. A missed target is a finding,
// not a failure.
#pragma once

#include <vector>

#include "engine/lab/results.h"

namespace tandem::sync_lab {

// Pure. A target takes its figure from the first device that has the rows it needs. Without such a device the target
// has no figure and says why.
std::vector<Target> judge(const LabResult& result);

}  // namespace tandem::sync_lab
