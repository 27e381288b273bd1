// Everything on the host's own loops: the reference of the numeric contract, which runs on every machine.
#include "engine/plan/placer.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

Plan make_host_only(const PlanRequest& request) {
  return all_on(request, DeviceRole::helper, "the host device", "host-only");
}

}  // namespace

extern const Strategy host_only;
const Strategy host_only{
    .name = "host-only",
    .explains = "every operator on the host's cores",
    .make = make_host_only,
    .only = DeviceRole::helper,
    .tried_by_auto = true,
    .auto_needs = {.host_alone = true},
};

}  // namespace tandem::plans
