// The `tandem` program from its arguments to its exit status: the table of commands, wrong usage, errors, log level.
#pragma once

#include <span>

#include "engine/app/command.h"

namespace tandem::app {

std::span<const Command> commands();

// Never throws: 0 done, 1 the work failed, 2 wrong usage, 130 interrupted. Errors go to stderr; with --json also, as an
// object, to stdout.
int run_program(int argc, const char* const* argv);

}  // namespace tandem::app
