// The fixed set that is best for the whole trace: the C experts that it asks for most (ties: the lower id). The mapping
// of Y7's baselines, with perfect knowledge of how often each expert is used.
#include "engine/moe/policies/policies.h"
#include "engine/moe/policies/popular.h"

namespace tandem {

MadePolicy make_static(const PolicySettings&, const LayerRequests& requests) {
  return std::make_unique<PopularPolicy>(requests, requests.tokens());
}

}  // namespace tandem
