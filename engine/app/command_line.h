// The `tandem` program from its arguments to its exit status: the table of commands, wrong usage, errors, log level.
#pragma once

#include <span>

#include "engine/app/command.h"

namespace tandem::app {

std::span<const Command> commands();

// What a command line asks for. Without an action it has been answered - help, the version, wrong usage - and only the
// exit status is left.
struct Request {
  Action action;
  int status = kDone;
  bool writes_to_stdout = false;  // an output of its own: reports go elsewhere
};

// Reads the arguments and runs nothing. Error: a file that an argument names, and that is needed to judge it, is bad.
Request parse_command_line(int argc, const char* const* argv);

// Never throws: 0 done, 1 the work failed, 2 wrong usage, 130 interrupted. Errors go to stderr; with --json also, as an
// object, to stdout.
int run_program(int argc, const char* const* argv);

}  // namespace tandem::app
