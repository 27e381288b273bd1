// Reads recorded outputs, which a replay writes again.
#include "bench/spec/cases.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "sync/error.h"

namespace tandem::bench {

// A case is a recorded prompt and what was written behind it, as ids.
std::vector<Case> read_cases(const std::string& path) {
  std::ifstream in(path);
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line);
    cases.push_back({json.at("task"), json.at("prompt"), json.at("output")});
  }
  if (cases.empty()) throw Error("there are no cases", path, "bench/spec_cases.py makes such a file");
  return cases;
}

}  // namespace tandem::bench
