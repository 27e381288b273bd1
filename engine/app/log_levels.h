// How much the program logs. TANDEM_LOG is a comma-separated list of LEVEL or LOGGER=LEVEL.
#pragma once

#include <string>

namespace tandem::app {

// The reason why the text is no value of TANDEM_LOG; "": it is one.
std::string problem_of_log_levels(const std::string& text);

// Sends the log to stderr, from warnings on or as TANDEM_LOG says. Error, for wrong usage: problem_of_log_levels().
void set_up_log();

}  // namespace tandem::app
