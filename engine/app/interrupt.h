// Signals that a command answers. The first Ctrl-C asks for a clean end, the second ends the process at once.
#pragma once

namespace tandem::app {

// Handles SIGINT and SIGTERM, and ignores SIGXFSZ. Called once, before work begins.
void watch_for_interrupt();
bool interrupted();  // from any thread

}  // namespace tandem::app
