// `tandem npu gemm`: runs one matrix product on the emulated array, and reports its cycles and a checked result.
#pragma once

#include <cstdint>
#include <string>

#include "engine/app/command.h"
#include "engine/app/parameters.h"

namespace tandem::app {

struct NpuGemmFlags {
  int64_t rows = 0, cols = 0;  // 0: from the parameter file (built in: 64 x 64)
  std::string dataflow;        // "": from the parameter file (built in: ws)
  int64_t m = 0, k = 0, n = 0;
  std::string format = "fp16";
  std::string params;
  Seed seed{1};
  bool stepped = false, json = false;
};

void add_npu_gemm(CLI::App& app, Action& action);
int run_npu_gemm(const NpuGemmFlags& flags);

}  // namespace tandem::app
