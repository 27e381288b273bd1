// Properties that must hold for an accepted input. A broken property leaves the target, because it is no tandem::Error.
#pragma once

#include <stdexcept>
#include <string>

namespace tandem::fuzz {

inline void must_hold(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error("a property does not hold: " + what);
}

}  // namespace tandem::fuzz
