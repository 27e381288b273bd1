// Signals that a command answers. The first Ctrl-C asks for a clean end, the second ends the process at once. A
// terminal that closes asks for a clean end, too.
#pragma once

namespace tandem::app {

// Handles SIGINT, SIGTERM and SIGHUP, unless the caller of the program ignores SIGHUP. Ignores SIGXFSZ. Called once,
// before work begins.
void watch_for_interrupt();
bool interrupted();  // from any thread
// Takes back a Ctrl-C: the answer of a chat has ended, and the chat goes on. False: there was none. TERM and HUP stay.
bool forget_interrupt();

}  // namespace tandem::app
