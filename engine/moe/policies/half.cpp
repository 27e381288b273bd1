// A fixed set as an engine could have it (Y7): the C experts that the first half of the tokens asks for most (ties: the
// lower id). Only the second half judges it.
#include "engine/moe/policies/policies.h"
#include "engine/moe/policies/popular.h"

namespace tandem {

MadePolicy make_half(const PolicySettings&, const LayerRequests& requests) {
  return std::make_unique<PopularPolicy>(requests, first_half(requests.tokens()));
}

}  // namespace tandem
