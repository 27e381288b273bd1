// The plots of the synchronisation report, as SVG. Pure; a plot without data is "".
#pragma once

#include <string>
#include <string_view>

#include "engine/lab/results.h"

namespace tandem::app {

// The style class of a policy's colour: "policy-spin".
std::string policy_class(sync::Policy policy);

// Round trips of the shortest steps, on a logarithmic axis, one line per policy: from the least to the 99th percentile,
// and the median. The round trip of the cache line (or of a card's bus) is a vertical rule.
std::string latency_chart(const sync_lab::DeviceResult& device);
// The time that a policy adds to a step of this length, against the processor time that it burns. Both axes
// are logarithmic.
std::string cpu_chart(const sync_lab::DeviceResult& device, double work_seconds);
// The time that a policy adds, by the length of the step.
std::string overhead_chart(const sync_lab::DeviceResult& device);

// The length of work for which cpu_chart() says most: the measured one nearest to a millisecond.
double telling_work(const sync_lab::DeviceResult& device);

}  // namespace tandem::app
