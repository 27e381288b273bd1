// Question: how near does the model clock come to the printed numbers of the sd.npu paper?
//
//   paper-sdnpu [--soc NAME|FILE.json] [--json FILE] [--html FILE]
//   paper-sdnpu --calibrate [--soc NAME|FILE.json] [-o FILE.json]   fit a phone's constants anew
//
// Every row is one printed number, the same setting on the model clock, the error and the verdict
// (docs/sdnpu.md). Nothing here is measured. --soc takes the place of the phone of that name, or of the phone of
// Table 3. The exit status says whether everything could be computed, not how many rows meet their bar.
#include <cstdio>
#include <string>
#include <vector>

#include "bench/paper/options.h"
#include "bench/paper_sdnpu/calibrate.h"
#include "bench/paper_sdnpu/row.h"
#include "sync/error.h"

namespace {

using namespace tandem;
using namespace tandem::paper_sdnpu;

paper::Heading heading(const std::string& profile) {
  return {"sd.npu",
          "paper-sdnpu",
          profile,
          "15 %, or the printed bounds",
          "they pass too",
          "inputs, numbers that contradict others, arithmetic on other rows, ranges in whose view a constant was "
          "chosen, what is not printed or not modelled"};
}

void run_calibration(const paper::Options& options) {
  const Calibration calibration = calibrate(soc_profile(options.soc));
  std::fputs(paper::text_of(calibration.residuals).c_str(), stdout);
  std::fputs(options.output.empty() ? ("\n" + to_json(calibration.profile)).c_str() : "", stdout);
  paper::write_report(options.output, to_json(calibration.profile));
}

void run_rows(const paper::Options& options) {
  const SocProfile profile = soc_profile(options.soc);
  Lab lab(profile);
  const paper::Heading title = heading(profile.name);
  paper::publish(paper::judge_all(all_rows(), lab, kBars), title, options);
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = paper::parse_options({argv + 1, argv + argc}, "redmi-k60-pro");
  if (!options) {
    std::fputs(paper::usage("paper-sdnpu").c_str(), stderr);
    return 2;
  }
  try {
    options->calibrate ? run_calibration(*options) : run_rows(*options);
  } catch (const Error& error) {
    std::fprintf(stderr, "paper-sdnpu: %s\n", error.what());
    return 1;
  }
  return 0;
}
