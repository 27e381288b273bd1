// The three descriptors that a program starts with: they may be closed, and a report and an output may both use
// standard output.
// Contract: called at the start, before other threads. Nothing here throws.
#pragma once

namespace tandem::app {

// A file that is opened later must not become descriptor 0, 1 or 2, because text would be written into it. So closed
// ones are opened on /dev/null, in the direction in which their use fails.
void fill_closed_streams() noexcept;

// Whether fill_closed_streams() found standard output closed.
bool stdout_is_closed() noexcept;

// For an output that is named /dev/stdout. Reports and texts go to standard error from now on, so that the output's
// bytes stay alone. OutputFile still finds standard output.
void lead_reports_to_stderr() noexcept;

}  // namespace tandem::app
