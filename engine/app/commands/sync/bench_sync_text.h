// The laboratory's result as tables for a terminal. Pure.
#pragma once

#include <string>

#include "engine/lab/results.h"

namespace tandem::app {

// Microseconds with three digits after the point below 1, two below 10, one below 100, else none: "0.093",
// "12.3", "1046".
std::string microseconds(double seconds);
// The value with `digits` digits after the point.
std::string number(double value, int digits);
// "empty", "10 us", "1 ms"
std::string work_name(double seconds);

std::string sync_text(const sync_lab::LabResult& result);

}  // namespace tandem::app
