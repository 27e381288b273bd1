// Signals that a command answers. Ctrl-C: the first one asks for a clean end, the second one ends the process at once.
#pragma once

namespace tandem::app {

// SIGINT and SIGTERM; SIGXFSZ is ignored. Once, before work begins.
void watch_for_interrupt();
bool interrupted();  // from any thread

}  // namespace tandem::app
