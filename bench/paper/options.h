// The command line of a paper's bench: --soc NAME|FILE.json, --json FILE, --html FILE, --calibrate, -o FILE.json.
//
// Contract: pure functions; they neither read nor write files.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tandem::paper {

struct Options {
  std::string soc;                 // name or file of the profile
  std::string json, html, output;  // files to write; "": none. output: the calibrated profile
  bool calibrate = false;
};

// nullopt if a flag is unknown or lacks its value.
std::optional<Options> parse_options(const std::vector<std::string>& arguments, const std::string& default_soc);
std::string usage(const std::string& bench);

}  // namespace tandem::paper
