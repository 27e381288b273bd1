#include "engine/plan/tensor_plan.h"

#include "engine/plan/placer.h"
#include "engine/plan/strategy.h"
#include "sync/error.h"

namespace tandem {
namespace {

void require_two(const PlanRequest& request, const char* plan) {
  if (row_cutters(request.devices).size() < 2) {
    throw Error("the plan needs two devices to cut rows between, an NPU beside a GPU or two GPUs", plan,
                "Name them in --device, see `tandem devices`");
  }
}

}  // namespace

Plan tensor(const PlanRequest& request) {
  require_two(request, "tensor");
  Placer placer(request);
  placer.place_as_tensor(request.operators, false);
  return placer.finish("tensor");
}

Plan rows(const PlanRequest& request) {
  require_two(request, "rows");
  Placer placer(request);
  placer.place_by_shares(request.operators, false);
  return placer.finish("rows");
}

}  // namespace tandem
