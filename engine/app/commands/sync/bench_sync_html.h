// The laboratory's result as one HTML page: plots, tables and what they mean. The page is self-contained: style and
// drawings are inside, without scripts or addresses. It follows the reader's choice of light or dark. Pure.
#pragma once

#include <string>

#include "engine/lab/results.h"

namespace tandem::app {

std::string sync_html(const sync_lab::LabResult& result);

}  // namespace tandem::app
