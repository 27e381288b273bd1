#include "tests/fuzz/targets.h"

namespace tandem::fuzz {

std::span<const Target> targets() {
  static constexpr Target kTargets[] = {{"command_line", command_line}};
  return kTargets;
}

}  // namespace tandem::fuzz
