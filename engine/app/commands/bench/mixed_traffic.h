// Requests of random lengths that arrive at random: the traffic of `tandem bench -np N --mixed REQUESTS`.
//
// Contract: pure functions. The same seed gives the same requests on every machine and tree. Time counts in passes, so
// the requests do not depend on how fast the machine is.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem::app {

struct MixedRequest {
  int64_t arrives = 0;              // after so many passes
  int64_t prompt = 0, written = 0;  // tokens
};

struct MixedTraffic {
  int64_t requests = 1;
  int64_t width = 1;                          // active requests at a time
  int64_t most_prompt = 1, most_written = 1;  // tokens of a request; lengths are uniform from 1 on
  uint64_t seed = 0;
};

// In the order of their arrivals. The number of requests that arrive in a pass is geometric. A request is active for
// about as many passes as it writes tokens, so the mean is chosen to keep nine tenths of the width busy. Long prompts
// take passes of their own and make a queue.
std::vector<MixedRequest> mixed_requests(const MixedTraffic& traffic);

}  // namespace tandem::app
