// Two pinned threads that hand one word to and fro: what a hand-over between two cores costs without any driver, and so
// the limit for every waiting policy.
//
// Contract
//   The words lie in cache lines of their own (and in no neighbouring ones, which the processor may fetch together): a
//   round is two transfers. Both threads look all the time, once with and once without the processor's pause
//   instruction, and the faster way counts. Returns the round trips in seconds, clock reading included
//   (clock_seconds() of it): `rounds` of them, or as many as `budget` allows, at least one. Error when a thread gets no
//   core for kPingPongDeadline. Threads: any, and the calling thread is the first of the two; it gets its cores back.
#pragma once

#include <chrono>
#include <vector>

namespace tandem::sync {

constexpr std::chrono::milliseconds kPingPongDeadline{2000};

std::vector<double> ping_pong(int first_core, int second_core, int rounds,
                              std::chrono::milliseconds budget = std::chrono::milliseconds(1000));

// What reading the clock takes.
double clock_seconds();

}  // namespace tandem::sync
