// The `tandem` program from arguments to exit status: the table of commands, wrong usage, errors, log level.
#pragma once

#include <span>

#include "engine/app/command.h"

namespace tandem::app {

std::span<const Command> commands();

// The result of reading a command line. Without an action it has been answered already (help, the version, wrong
// usage), and only the exit status remains.
struct Request {
  Action action;
  int status = kDone;
  bool writes_to_stdout = false;  // an output goes to stdout, so reports go elsewhere
};

// Reads the arguments and runs no command. Error: a file that an argument names is bad, and judging the
// argument needs it.
Request parse_command_line(int argc, const char* const* argv);

// Never throws. Returns 0: done, 1: the work failed, 2: wrong usage, 130: interrupted. Errors go to stderr; with --json
// they also go to stdout, as an object.
int run_program(int argc, const char* const* argv);

}  // namespace tandem::app
