// The file that this process runs.
#pragma once

#include <string>

namespace tandem::app {

std::string own_program();  // absolute; "" where the system does not say

}  // namespace tandem::app
