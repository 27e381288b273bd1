#include "engine/run/pass/pass_deadline.h"

#include <algorithm>
#include <cmath>
#include <variant>

namespace tandem {

std::chrono::milliseconds pass_deadline(const Plan& plan, std::chrono::milliseconds least) {
  constexpr double kFlopsASecond = 5e9, kFileBytesASecond = 50e6;
  double seconds = 0;
  for (const Step& step : plan.steps) {
    for (const Operator& op : step.operators) {
      seconds += work(op).flops / kFlopsASecond;
      if (const auto* fetch = std::get_if<ExpertFetch>(&op.body))
        seconds += fetch->expected_bytes() / kFileBytesASecond;
    }
  }
  return std::max(least, std::chrono::milliseconds(std::llround(seconds * 1000)));
}

}  // namespace tandem
