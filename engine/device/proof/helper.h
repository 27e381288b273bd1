// Finds the helper program in which drivers are tried, and says how long it may be silent.
//
// Contract: both functions read environment variables. Threads: any, while no thread changes the environment. No error
// is thrown.
#pragma once

#include <chrono>
#include <string>

namespace tandem::proof {

inline constexpr const char* kHelperName = "tandem-prove";
// Exit status of the helper when it finds another device under a number than the process that asks (OtherDevice).
inline constexpr int kOtherDevice = 4;

std::string find_helper();             // path of the helper; empty: there is none (search order: proof.h)
std::chrono::seconds silence_limit();  // TANDEM_PROVER_SILENCE_S (set by tests), or 60 s

}  // namespace tandem::proof
