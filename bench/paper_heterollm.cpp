// Question: how near does the model clock come to the printed numbers of the HeteroLLM paper?
//
//   paper-heterollm [--soc NAME|FILE.json] [--json FILE] [--html FILE]
//   paper-heterollm --calibrate [--soc NAME|FILE.json] [-o FILE.json]   fit the profile's constants anew
//
// Every row is one printed number, the same setting on the model clock, the error and the verdict
// (docs/model_clock.md). Nothing here is measured. The exit status says whether everything could be computed, not how
// many rows meet their bar.
#include <cstdio>
#include <string>
#include <vector>

#include "bench/paper/options.h"
#include "bench/paper_heterollm/calibrate.h"
#include "bench/paper_heterollm/report.h"
#include "bench/paper_heterollm/row.h"
#include "sync/error.h"

namespace {

using namespace tandem;
using namespace tandem::paper_heterollm;

// Prints what each constant was fitted to and how well, then writes the profile.
void run_calibration(const paper::Options& options) {
  Decoders decoders;
  const auto says = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  const Calibration calibration = calibrate(soc_profile(options.soc), decoders, {}, says);
  std::fputs(paper::text_of(calibration.residuals).c_str(), stdout);
  paper::write_report(options.output, to_json(calibration.profile));
}

// Judges all rows of the paper by the profile, without fitting anything.
void run_rows(const paper::Options& options) {
  Decoders decoders;
  Lab lab(soc_profile(options.soc), decoders);
  paper::publish(paper::judge_all(all_rows(), lab), heading(lab.profile()), options);
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = paper::parse_options({argv + 1, argv + argc}, "snapdragon-8gen3");
  if (!options) {
    std::fputs(paper::usage("paper-heterollm").c_str(), stderr);
    return 2;
  }
  try {
    options->calibrate ? run_calibration(*options) : run_rows(*options);
  } catch (const Error& error) {
    std::fprintf(stderr, "paper-heterollm: %s\n", error.what());
    return 1;
  }
  return 0;
}
