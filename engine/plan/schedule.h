// Turns placed operators into the steps of a plan. The waits follow from the memory that operators read and write.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace tandem {

// `placed` has operators in the order of the computation. An operator waits only if it reads what another device wrote,
// or if it overwrites what another device wrote or still reads. Neighbours on one device become one step, up to the
// next wait or signal. The last step of every device signals.
//
// Contract: a pure function. Devices that append to one KV cache, or that read it while another one appends, must share
// its memory.
Plan schedule(std::string name, std::vector<std::string> devices, std::vector<Placed> placed);

}  // namespace tandem
