// The flags that all benches of papers share.
#include "bench/paper/options.h"

namespace tandem::paper {

// All benches of papers have these flags, each with a value but --calibrate.
std::optional<Options> parse_options(const std::vector<std::string>& arguments, const std::string& default_soc) {
  Options options;
  options.soc = default_soc;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& flag = arguments[i];
    if (flag == "--calibrate") {
      options.calibrate = true;
      continue;
    }
    std::string* value = flag == "--soc"    ? &options.soc
                         : flag == "--json" ? &options.json
                         : flag == "--html" ? &options.html
                         : flag == "-o"     ? &options.output
                                            : nullptr;
    if (value == nullptr || i + 1 >= arguments.size()) return std::nullopt;
    *value = arguments[++i];
  }
  return options;
}

std::string usage(const std::string& bench) {
  return "usage: " + bench + " [--soc NAME|FILE.json] [--json FILE] [--html FILE]\n       " + bench +
         " --calibrate [--soc NAME|FILE.json] [-o FILE.json]\n";
}

}  // namespace tandem::paper
