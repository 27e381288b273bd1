#include "engine/run/choice/plans_ran.h"

#include <algorithm>

namespace tandem {
namespace {

// The names of plans of decode or of prefill, each once, in the order of their first passes: "sequence and tensor".
std::string names(std::span<const PlanRan> ran, bool decode) {
  std::vector<std::string> seen;
  for (const PlanRan& entry : ran) {
    if ((entry.tokens <= kDecodeTokens) == decode && std::ranges::count(seen, entry.plan) == 0)
      seen.push_back(entry.plan);
  }
  std::string text;
  for (const std::string& name : seen) text += (text.empty() ? "" : " and ") + name;
  return text;
}

}  // namespace

void PlansRan::add(int64_t tokens, const std::string& plan) {
  last_ = plan;
  for (PlanRan& entry : ran_) {
    if (entry.tokens == tokens && entry.plan == plan) {
      ++entry.passes;
      return;
    }
  }
  ran_.push_back({tokens, plan, 1});
}

// Names prefill and decode apart only if both ran and their plans differ.
std::string describe_plans(const std::string& asked, std::span<const PlanRan> ran) {
  const std::string prefill = names(ran, false), decode = names(ran, true);
  if (prefill.empty() && decode.empty()) return asked;
  if (prefill != decode && !prefill.empty() && !decode.empty())
    return asked + ": prefill " + prefill + ", decode " + decode;
  const std::string taken = prefill.empty() ? decode : prefill;
  return taken == asked ? asked : asked + ": " + taken;
}

}  // namespace tandem
