// Recorded texts for bench/spec.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::bench {

struct Case {
  std::string task;
  std::vector<int32_t> prompt, output;
};

// A JSON object a line: {"task", "prompt": [ids], "output": [ids]}. Error: there is none.
std::vector<Case> read_cases(const std::string& path);

}  // namespace tandem::bench
