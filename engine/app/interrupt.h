// Signals that a command answers. The first Ctrl-C asks for a clean end, the second ends the process at once.
#pragma once

namespace tandem::app {

// Handles SIGINT and SIGTERM, and ignores SIGXFSZ. Called once, before work begins.
void watch_for_interrupt();
bool interrupted();  // from any thread
// Takes back a Ctrl-C: the answer of a chat has ended, and the chat goes on. False: there was none. TERM stays.
bool forget_interrupt();

}  // namespace tandem::app
