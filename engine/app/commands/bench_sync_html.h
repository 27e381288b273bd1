// The laboratory's result as one page: plots, tables, what they mean. It needs nothing else (style and drawings are in
// it, no scripts, no addresses) and follows the reader's choice of light or dark. Pure.
#pragma once

#include <string>

#include "engine/lab/results.h"

namespace tandem::app {

std::string sync_html(const sync_lab::LabResult& result);

}  // namespace tandem::app
