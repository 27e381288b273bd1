// The description of the server's routes, as an OpenAPI 3.1 document.
//
// Contract: pure; threads: any. It is made of the table of routes, of the members that the readers of requests ask for,
// and of the table of metrics (under "x-metrics" of /metrics). So it cannot name what the server does not know.
#pragma once

#include "engine/serve/api/fields.h"

namespace tandem::serve {

Json openapi_document();

}  // namespace tandem::serve
