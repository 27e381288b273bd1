// Question: how near does a model of its machine come to the printed numbers of the GPU-NDP paper?
//
//   paper-gpu-ndp [--json FILE] [--html FILE]
//   paper-gpu-ndp --calibrate   fit the routing anew
//
// Every row is one printed number, the same setting in the model, the error and the verdict (docs/gpu-ndp.md). Nothing
// here is measured. The exit status says whether everything could be computed, not how many rows meet their bar.
#include <cstdio>
#include <string>
#include <vector>

#include "bench/paper/options.h"
#include "bench/paper_gpu_ndp/calibrate.h"
#include "bench/paper_gpu_ndp/row.h"
#include "sync/error.h"

namespace {

using namespace tandem;
using namespace tandem::paper_gpu_ndp;

constexpr const char* kUsage = "usage: paper-gpu-ndp [--json FILE] [--html FILE]\n       paper-gpu-ndp --calibrate\n";

void run_rows(const paper::Options& options) {
  Lab lab;
  const paper::Heading title{"GPU-NDP",
                             "paper-gpu-ndp",
                             "RTX 5080 and 2 to 6 NDP-DIMMs",
                             "15 %, or exact",
                             "they pass too",
                             "numbers that contradict others, other readings, what is not printed or not modelled"};
  paper::publish(paper::judge_all(all_rows(), lab, kBars), title, options);
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = paper::parse_options({argv + 1, argv + argc}, "");
  if (!options || !options->soc.empty() || !options->output.empty()) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  try {
    if (options->calibrate)
      std::fputs(paper::text_of(calibrate().residuals).c_str(), stdout);
    else
      run_rows(*options);
  } catch (const Error& error) {
    std::fprintf(stderr, "paper-gpu-ndp: %s\n", error.what());
    return 1;
  }
  return 0;
}
