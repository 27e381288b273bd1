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
  std::vector<std::string> sizes{"0", "10us", "100us", "1ms", "10ms"};  // lengths of a step's work
  int rounds = 0;  // steps of each row; 0: depends on the length of its steps
  bool quick = false;
  std::string html;             // report file; "": none
  bool litmus = false;          // test memory ordering instead of waiting
  uint64_t iterations = 10000;  // of each litmus test
  bool chooses_plan = false;    // the user named no plan: tensor, if there are a GPU and an NPU
};

// Seconds of "250us", "1.5ms", "1s" or "40" (microseconds). Error for any other text, and above a second.
double parse_duration(const std::string& text);

// Error if figures are missing. named: any of the devices that the user named has none. Otherwise: no device has one.
void require_figures(const sync_lab::LabResult& result, bool named);

int bench_sync_command(const CommonFlags& flags, const BenchSyncFlags& bench);
void add_bench_sync(CLI::App& app, Action& action);

}  // namespace tandem::app
