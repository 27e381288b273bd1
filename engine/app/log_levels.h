// How much the program logs: TANDEM_LOG, a level, or LOGGER=LEVEL, comma separated.
#pragma once

#include <string>

namespace tandem::app {

// What is wrong with the text as a value of TANDEM_LOG; "": nothing.
std::string problem_of_log_levels(const std::string& text);

// The log goes to stderr, from warnings on or as TANDEM_LOG says. Error, for wrong usage: problem_of_log_levels().
void set_up_log();

}  // namespace tandem::app
