// Question: how near does the model clock come to the printed numbers of the NPUMoE paper?
//
//   paper-npumoe [--soc NAME|FILE.json] [--json FILE] [--html FILE]
//   paper-npumoe --calibrate [--soc NAME|FILE.json] [-o FILE.json]   fit the constants anew
//
// Every row is one printed number, the same setting on the model clock, the error and the verdict
// (docs/npumoe.md). Nothing here is measured. The exit status says whether everything could be computed, not how
// many rows meet their bar.
#include <cstdio>
#include <string>
#include <vector>

#include "bench/paper/options.h"
#include "bench/paper_npumoe/calibrate.h"
#include "bench/paper_npumoe/row.h"
#include "sync/error.h"

namespace {

using namespace tandem;
using namespace tandem::paper_npumoe;

// The texts of the report: the bars, and what is not judged.
paper::Heading heading(const SocProfile& profile) {
  return {"NPUMoE",
          "paper-npumoe",
          profile.name,
          "15 %",
          "they pass too",
          "inputs, numbers that contradict others, arithmetic on other rows, rules that were read from a row, what is "
          "not printed or not modelled"};
}

void run_calibration(const paper::Options& options) {
  const SocProfile start = soc_profile(options.soc);
  const RoutingModel routing = calibrated_routing(start.experts);
  Traffic traffic(routing);
  const Calibration calibration = calibrate(start, traffic);
  std::printf("routing: sigma of popularity %g, of a chunk %g (NF31: 14.66 %% dropped, NF53: Overlap@4 86 %%)\n\n",
              routing.popularity_sigma, routing.chunk_sigma);
  std::fputs(paper::text_of(calibration.residuals).c_str(), stdout);
  std::fputs(options.output.empty() ? ("\n" + to_json(calibration.profile)).c_str() : "", stdout);
  paper::write_report(options.output, to_json(calibration.profile));
}

void run_rows(const paper::Options& options) {
  Traffic traffic;
  Lab lab(soc_profile(options.soc), traffic);
  const paper::Heading title = heading(lab.profile());
  paper::publish(paper::judge_all(all_rows(), lab, kBars), title, options);
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = paper::parse_options({argv + 1, argv + argc}, "m2-ultra");
  if (!options) {
    std::fputs(paper::usage("paper-npumoe").c_str(), stderr);
    return 2;
  }
  try {
    options->calibrate ? run_calibration(*options) : run_rows(*options);
  } catch (const Error& error) {
    std::fprintf(stderr, "paper-npumoe: %s\n", error.what());
    return 1;
  }
  return 0;
}
