// `tandem bench-sync`: what waiting for a device costs, by policy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/app/command.h"
#include "engine/app/common_flags.h"
#include "engine/lab/results.h"

namespace tandem::app {

struct BenchSyncFlags {
  std::vector<std::string> policies;                                    // empty: all
  std::vector<std::string> sizes{"0", "10us", "100us", "1ms", "10ms"};  // of a step's work
  int rounds = 0;                                                       // of each row; 0: by the length of its steps
  bool quick = false;
  std::string html;             // report file; "": none
  bool litmus = false;          // memory ordering instead of waiting
  uint64_t iterations = 10000;  // of each litmus test
  bool chooses_plan = false;    // nobody named one: tensor, where there is a GPU beside an NPU
};

// "250us", "1.5ms", "1s", "40" (microseconds) to seconds. Error when it is none of these, or above a second.
double parse_duration(const std::string& text);

// Error where the report has no figure: of one of the devices that were named, or of any device that is here.
void require_figures(const sync_lab::LabResult& result, bool named);

int bench_sync_command(const CommonFlags& flags, const BenchSyncFlags& bench);
void add_bench_sync(CLI::App& app, Action& action);

}  // namespace tandem::app
