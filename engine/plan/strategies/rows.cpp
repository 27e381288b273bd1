// H2 and H6: every matmul is cut by rows, in the ratio of the devices' predicted speeds or in the ratio of --split.
#include "engine/plan/placer.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

Plan make_rows(const PlanRequest& request) {
  require_two_cutters(request, "rows");
  Placer placer(request);
  placer.place_by_shares(request.operators, false);
  return placer.finish("rows");
}

}  // namespace

extern const Strategy rows;
const Strategy rows{
    .name = "rows",
    .explains = "H2/H6: each matmul cut by output rows between GPUs and NPU, by their predicted speeds (or --split)",
    .make = make_rows,
    .cuts_rows = true,
    .weighs_attention = true,
    .tried_by_auto = true,
    .auto_needs = {.npu = true, .cutters = 2},
};

}  // namespace tandem::plans
