// N9, CPU: every operator on the host.
#include "engine/plan/placer.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

Plan make_moe_cpu(const PlanRequest& request) {
  return all_on(request, DeviceKind::host, "the host device", "moe-cpu");
}

}  // namespace

extern const Strategy moe_cpu;
const Strategy moe_cpu{
    .name = "moe-cpu",
    .explains = "N9: every operator on the host",
    .make = make_moe_cpu,
    .only = DeviceKind::host,
    .auto_needs = {.experts = true},
};

}  // namespace tandem::plans
