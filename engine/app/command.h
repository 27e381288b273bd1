// A command of the program: its name, its purpose, and a function that declares its flags.
//
// Contract: add() declares the sub-command's flags and a callback that sets `action`. The action runs after the whole
// command line has been accepted. It returns the exit status and may throw tandem::Error. Flags live as long as the
// CLI::App, whose callback shares them.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace tandem::app {

using Action = std::function<int()>;

// The groups of commands in the program's help text.
inline constexpr const char *kUse = "Commands that use models", *kMeasure = "Commands that measure",
                            *kStudy = "Commands that study and make models";

struct Command {
  const char* shelf;  // one of the groups above
  const char* name;
  const char* explains;
  void (*add)(CLI::App& app, Action& action);
};

// Exit statuses of the program.
inline constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2, kInterrupted = 130;

}  // namespace tandem::app
