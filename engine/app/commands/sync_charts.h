// The plots of the synchronisation report, as SVG. Pure; a plot of nothing is "".
#pragma once

#include <string>
#include <string_view>

#include "engine/lab/results.h"

namespace tandem::app {

// The style class of a policy's colour, "policy-spin".
std::string policy_class(sync::Policy policy);

// Round trips of the shortest steps, one line a policy, logarithmic: least to 99 of 100, and the median; the cache
// line's round trip as a rule.
std::string latency_chart(const sync_lab::DeviceResult& device);
// What a policy adds to a step of this length against the processor time it burns meanwhile, both logarithmic.
std::string cpu_chart(const sync_lab::DeviceResult& device, double work_seconds);
// What a policy adds, by the length of the step.
std::string overhead_chart(const sync_lab::DeviceResult& device);

// The length that cpu_chart() is best drawn for: the measured one nearest a millisecond.
double telling_work(const sync_lab::DeviceResult& device);

}  // namespace tandem::app
