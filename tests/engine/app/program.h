// Runs the `tandem` program inside the test process, like a shell: arguments in, status, stdout and stderr out.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/app/command_line.h"

namespace tandem::testing {

struct Outcome {
  int status = -1;
  std::string out, err;
};

inline Outcome tandem_program(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "tandem");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.status = app::run_program(static_cast<int>(argv.size()), argv.data());
  outcome.out = ::testing::internal::GetCapturedStdout();
  outcome.err = ::testing::internal::GetCapturedStderr();
  return outcome;
}

}  // namespace tandem::testing
