#include "engine/run/pass/rebound.h"

#include <variant>

namespace tandem {
namespace {

// The views of some operators depend on the positions before their first token; their operands do not.
template <typename Body>
auto views_of(Body& body) {
  if constexpr (requires { Body::views(body, Past{}); })
    return Body::views(body, Past{});
  else
    return Body::views(body);
}

}  // namespace

Plan rebound(Plan plan, const sync::Slot* from, const sync::Slot* to) {
  const auto rebind = [&](auto& body) {
    auto views = views_of(body);
    for (const auto& view : views)
      if (view.place != nullptr && view.place->slot == from) view.place->slot = to;
  };
  for (Step& step : plan.steps)
    for (Operator& op : step.operators) std::visit(rebind, op.body);
  return plan;
}

}  // namespace tandem
