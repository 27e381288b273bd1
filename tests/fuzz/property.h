// What must hold of an accepted input. A broken one escapes from the target, as no tandem::Error does.
#pragma once

#include <stdexcept>
#include <string>

namespace tandem::fuzz {

inline void must_hold(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error("a property does not hold: " + what);
}

}  // namespace tandem::fuzz
