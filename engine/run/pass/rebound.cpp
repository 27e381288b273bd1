#include "engine/run/pass/rebound.h"

#include <variant>

#include "engine/run/pass/body_views.h"

namespace tandem {
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
