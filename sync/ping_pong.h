// Measures a hand-over between two cores without any driver: two pinned threads pass one word to and fro.
//
// This time is the limit for every waiting policy.
//
// Contract
//   The words lie in their own cache lines, and not in neighbouring lines, which the processor may fetch together. A
//   round is two transfers. Both threads look all the time, once with and once without the processor's pause
//   instruction; the faster way counts. Returns the seconds of each round trip, including one clock_seconds() for
//   reading the clock. There are `rounds` of them, or as many as `budget` allows, at least one. Error when a thread
//   gets no core for kPingPongDeadline. Threads: any. The calling thread is the first of the two and gets its former
//   cores back.
#pragma once

#include <chrono>
#include <vector>

namespace tandem::sync {

constexpr std::chrono::milliseconds kPingPongDeadline{2000};

std::vector<double> ping_pong(int first_core, int second_core, int rounds,
                              std::chrono::milliseconds budget = std::chrono::milliseconds(1000));

// The seconds that one reading of the clock takes.
double clock_seconds();

}  // namespace tandem::sync
