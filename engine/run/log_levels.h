// How much is logged. TANDEM_LOG is a comma-separated list of LEVEL or LOGGER=LEVEL, for the program and for a library.
#pragma once

#include <string>

namespace tandem {

// The reason why the text is no value of TANDEM_LOG; "": it is one.
std::string problem_of_log_levels(const std::string& text);

// The same for the variable itself; "": it is not set, or has a value.
std::string problem_of_log_variable();

// Sends the log to standard error, from warnings on or as TANDEM_LOG says. The caller has looked for its problem.
void log_to_stderr();

}  // namespace tandem
