// Draws the last recorded pass: what every device did and when, as a stand-alone SVG.
//
// There are two strips: the whole pass, and two of its layers, enlarged. Each device is a row of bars, one bar per
// span. Bars show matmuls, attention, everything else, and waits for another device.
//
// Contract: pure. Error when the timeline has no pass. The colours suit light and dark pages.
#pragma once

#include <string>

#include "engine/run/pass/timeline.h"

namespace tandem::app {

std::string trace_picture(const Timeline& timeline);

}  // namespace tandem::app
