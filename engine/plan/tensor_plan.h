// Strategies that share every matmul between processors, all else being the first GPU's.
#pragma once

namespace tandem {

struct Plan;
struct PlanRequest;

// "Hetero-tensor": each matmul on the GPU, on the NPU or cut between them (H2 to H6) as the solver decides (H9), once
// for each shape. Needs a GPU (or the host in its place) and an NPU, and request.costs. With more devices, or shares
// that the user gave, it goes as `rows`.
Plan tensor(const PlanRequest& request);

// H2, H6 among any number of devices: matmuls cut by rows in request.shares.
Plan rows(const PlanRequest& request);

}  // namespace tandem
