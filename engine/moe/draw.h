// Random numbers that are the same everywhere. mt19937_64 is specified exactly; the standard library's distributions
// are not.
//
// Contract: a value, for one thread. Numbers are equal on every machine, apart from rounding in std::log and std::cos.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace tandem {

class Draw {
 public:
  explicit Draw(uint64_t seed) : bits_(seed) {}
  uint64_t below(uint64_t end) { return bits_() % end; }                             // nearly uniform for a small end
  double uniform() { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53; }  // above 0, below 1
  double normal() {                                                                  // Box-Muller transform
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::mt19937_64 bits_;
};

}  // namespace tandem
