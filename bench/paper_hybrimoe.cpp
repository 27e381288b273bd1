// Question: how near does a model of its machine come to the printed numbers of the HybriMoE paper?
//
//   paper-hybrimoe [--trace FILE.jsonl] [--json FILE] [--html FILE]
//   paper-hybrimoe --calibrate   fit the constants anew
//
// Every row is one printed number, the same setting in the model, the error and the verdict (docs/hybrimoe.md). Nothing
// here is measured. --trace: recorded routing (tandem trace-moe) for the rows about caches. The exit status says
// whether everything could be computed, not how many rows meet their bar.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/paper/options.h"
#include "bench/paper_hybrimoe/calibrate.h"
#include "bench/paper_hybrimoe/row.h"
#include "sync/error.h"

namespace {

using namespace tandem;
using namespace tandem::paper_hybrimoe;

constexpr const char* kUsage =
    "usage: paper-hybrimoe [--trace FILE.jsonl] [--json FILE] [--html FILE]\n       paper-hybrimoe --calibrate\n";

void run_calibration() {
  const Calibration calibration = calibrate();
  std::fputs(paper::text_of(calibration.residuals).c_str(), stdout);
}

void run_rows(const paper::Options& options, const std::string& trace) {
  Lab lab({}, trace.empty() ? std::optional<RoutingTrace>() : read_routing_trace(trace));
  const paper::Heading title{"HybriMoE",
                             "paper-hybrimoe",
                             "RTX A6000 and 10 cores of a Xeon 5220R",
                             "15 %, or exact",
                             "they pass too",
                             "numbers that contradict others, other readings, laws that are built in, what is not "
                             "printed or not modelled"};
  paper::publish(paper::judge_all(all_rows(!trace.empty()), lab, kBars), title, options);
}

}  // namespace

// `--trace` belongs to this bench alone, so it is taken out before the shared flags are read.
int main(int argc, char** argv) {
  std::vector<std::string> arguments{argv + 1, argv + argc};
  std::string trace;
  const auto flag = std::ranges::find(arguments, "--trace");
  if (flag != arguments.end() && flag + 1 != arguments.end()) {
    trace = *(flag + 1);
    arguments.erase(flag, flag + 2);
  }
  const auto options = paper::parse_options(arguments, "");
  if (!options || !options->soc.empty() || !options->output.empty()) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  try {
    options->calibrate ? run_calibration() : run_rows(*options, trace);
  } catch (const Error& error) {
    std::fprintf(stderr, "paper-hybrimoe: %s\n", error.what());
    return 1;
  }
  return 0;
}
