// The views of an operator's body, whatever its kind.
#pragma once

#include "engine/device/operator.h"

namespace tandem {

// The views of some operators depend on the positions before their first token; their operands do not.
template <typename Body>
auto views_of(Body& body) {
  if constexpr (requires { Body::views(body, Past{}); })
    return Body::views(body, Past{});
  else
    return Body::views(body);
}

}  // namespace tandem
