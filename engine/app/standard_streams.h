// The three descriptors that a program starts with: closed ones, and one that a report and an output both want.
// Contract: called at the start, before other threads. Nothing here throws.
#pragma once

namespace tandem::app {

// A file that is opened later must not become descriptor 0, 1 or 2: text would be written into it. Closed ones lead to
// /dev/null, in the direction that fails.
void fill_closed_streams() noexcept;

// Whether fill_closed_streams() found standard output closed.
bool stdout_is_closed() noexcept;

// For an output that is named /dev/stdout: reports and texts go to standard error from now on, so that the output's
// bytes stay alone. OutputFile still finds standard output.
void lead_reports_to_stderr() noexcept;

}  // namespace tandem::app
