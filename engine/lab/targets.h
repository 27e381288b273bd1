// What the project wants of its waiting policies, judged by the figures of one run. A missed target is a finding, not a
// failure.
#pragma once

#include <vector>

#include "engine/lab/results.h"

namespace tandem::sync_lab {

// Pure. Of the first device whose rows hold what a target needs; where none does, the target has no figure and says
// why.
std::vector<Target> judge(const LabResult& result);

}  // namespace tandem::sync_lab
