// From operators on devices to the steps of a plan: who waits for whom follows from what they read and write.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace tandem {

// Turns operators in order of the computation into steps: waits where an operator touches what another device wrote or
// still reads, and nowhere else; neighbours on one device become one step. The last step of every device signals.
// Devices that append to one cache, or read it while another one appends, share its memory.
Plan schedule(std::string name, std::vector<std::string> devices, std::vector<Placed> placed);

}  // namespace tandem
