#include "engine/run/pass/core_layout.h"

#include <algorithm>

#include "sync/error.h"

namespace tandem {
namespace {

std::string list(std::span<const int> cores) {
  std::string text;
  for (int core : cores) text += (text.empty() ? "" : ",") + std::to_string(core);
  return text;
}

}  // namespace

// The GPU has the first half of the cores, rounded up, and the NPU has the rest.
CoreLayout lay_out_cores(std::span<const int> usable, int threads) {
  TANDEM_CHECK(!usable.empty(), "a process runs on at least one core");
  const size_t count = threads > 0 ? std::min(usable.size(), static_cast<size_t>(threads)) : usable.size();
  const std::span<const int> cores = usable.first(count);
  if (count == 1) return {{cores[0]}, {cores[0]}, cores[0], false};
  const size_t gpu = (count + 1) / 2;
  return {{cores.begin(), cores.begin() + static_cast<ptrdiff_t>(gpu)},
          {cores.begin() + static_cast<ptrdiff_t>(gpu), cores.end()},
          cores.back(),
          true};
}

std::string to_string(const CoreLayout& layout) {
  return "GPU worker on core " + list(layout.gpu) + ", NPU on core " + list(layout.npu) + ", orchestrator on core " +
         std::to_string(layout.orchestrator) + (layout.may_spin ? "" : ", blocking waits only");
}

}  // namespace tandem
