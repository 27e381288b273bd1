// Ctrl-C: the first one asks for a clean end, the second one ends the process at once.
#pragma once

namespace tandem::app {

void watch_for_interrupt();  // SIGINT and SIGTERM; once, before work begins
bool interrupted();          // from any thread

}  // namespace tandem::app
