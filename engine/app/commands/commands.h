// Functions that add the commands of the table (engine/app/command_line.cpp) to the command line. Each is in the file
// of its name, in one of the rooms of this folder. Functions of commands that run a model are in
// text/session_commands.cpp. Commands that tests or other commands call have their own headers.
#pragma once

#include "engine/app/command.h"

namespace tandem::app {

void add_run(CLI::App& app, Action& action);
void add_eval(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_profile(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);

void add_completion(CLI::App& app, Action& action);
void add_devices(CLI::App& app, Action& action);
void add_info(CLI::App& app, Action& action);
void add_make_moe(CLI::App& app, Action& action);
void add_make_random(CLI::App& app, Action& action);
void add_pack(CLI::App& app, Action& action);
void add_warm(CLI::App& app, Action& action);

}  // namespace tandem::app
