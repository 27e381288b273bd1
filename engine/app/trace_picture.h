// The last recorded pass as a picture: what every device did and when, as SVG that stands alone.
//
// Two strips: the whole pass, and two of its layers, drawn larger. Each device is a row of bars, a bar a span: matmuls,
// attention, everything else, and waiting for another device.
//
// Contract: pure. Error when the timeline has no pass. Colours suit light and dark pages.
#pragma once

#include <string>

#include "engine/run/timeline.h"

namespace tandem::app {

std::string trace_picture(const Timeline& timeline);

}  // namespace tandem::app
