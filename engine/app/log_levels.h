// How much the program logs, as the variable TANDEM_LOG says.
#pragma once

namespace tandem::app {

// Sends the log to stderr. Error, for wrong usage: problem_of_log_variable() (engine/run/log_levels.h).
void set_up_log();

}  // namespace tandem::app
