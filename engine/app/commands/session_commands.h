// The flags of the commands that run a model: run, eval, bench, plan, profile, calibrate.
#pragma once

#include "engine/app/command.h"

namespace tandem::app {

void add_run(CLI::App& app, Action& action);
void add_eval(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_profile(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);

}  // namespace tandem::app
