// Question: how long do a prompt and its first written tokens take, if the NPU's graphs are loaded meanwhile (S1)?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::bench {

struct GraphBenchOptions {
  std::string model, plan = "npu-only";
  std::vector<std::string> devices;
  std::vector<int64_t> lengths = {300};  // tokens of the prompts
  int64_t chunk = 0;
  int64_t npu_mebibytes = 0;  // 0: the least that suffices
  int rounds = 10;
  bool cold = false;           // every load reads storage
  int64_t load_mebibytes = 0;  // most MiB of a load in a second; 0: as fast as it can
};

// Compares logits' bits of each way of loading with those of an engine without loads. Then it times the ways in turn.
int measure_graphs(const GraphBenchOptions& options);

}  // namespace tandem::bench
