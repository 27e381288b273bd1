// H12: everything on the GPU. All other plans are compared with this one.
#include "engine/plan/placer.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

Plan make_gpu_only(const PlanRequest& request) { return all_on(request, DeviceRole::general, "a GPU", "gpu-only"); }

}  // namespace

extern const Strategy gpu_only;
const Strategy gpu_only{
    .name = "gpu-only",
    .explains = "every operator on the GPU",
    .make = make_gpu_only,
    .only = DeviceRole::general,
    .tried_by_auto = true,
    .auto_needs = {.gpu = true},
};

}  // namespace tandem::plans
