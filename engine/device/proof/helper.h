// Where the helper program lies that drivers are tried in, and how long it may be silent.
#pragma once

#include <chrono>
#include <string>

namespace tandem::proof {

inline constexpr const char* kHelperName = "tandem-prove";
// Its exit status where the device of the given number is not the one that this process has (OtherDevice).
inline constexpr int kOtherDevice = 4;

std::string find_helper();             // its path, or empty (proof.h)
std::chrono::seconds silence_limit();  // TANDEM_PROVER_SILENCE_S (tests), or a minute

}  // namespace tandem::proof
