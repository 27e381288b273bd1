// Question: how near does the model clock come to the numbers that the HeteroLLM paper prints?
//
//   paper-heterollm [--soc NAME|FILE.json] [--json FILE] [--html FILE]
//   paper-heterollm --calibrate [--soc NAME|FILE.json] [-o FILE.json]   fit the profile's constants anew
//
// Every row is one printed number, the same setting on the model clock, the error and the verdict
// (docs/model_clock.md). Nothing here is measured. The exit status says whether everything could be computed, not how
// many rows meet their bar.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "bench/paper_heterollm/calibrate.h"
#include "bench/paper_heterollm/report.h"
#include "bench/paper_heterollm/row.h"
#include "sync/error.h"

namespace {

using namespace tandem;
using namespace tandem::paper_heterollm;

struct Options {
  std::string soc = "snapdragon-8gen3";
  std::string json, html, output;
  bool calibrate = false;
};

constexpr const char* kUsage =
    "usage: paper-heterollm [--soc NAME|FILE.json] [--json FILE] [--html FILE]\n"
    "       paper-heterollm --calibrate [--soc NAME|FILE.json] [-o FILE.json]\n";

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--calibrate") {
      options.calibrate = true;
      continue;
    }
    std::string* value = flag == "--soc"    ? &options.soc
                         : flag == "--json" ? &options.json
                         : flag == "--html" ? &options.html
                         : flag == "-o"     ? &options.output
                                            : nullptr;
    if (value == nullptr || i + 1 >= argc) return false;
    *value = argv[++i];
  }
  return true;
}

void write(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error("cannot write the report", path, "check the path and the space left");
}

void run_calibration(const Options& options) {
  Decoders decoders;
  const auto says = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  const Calibration calibration = calibrate(soc_profile(options.soc), decoders, {}, says);
  std::fputs(text_of(calibration).c_str(), stdout);
  write(options.output, to_json(calibration.profile));
}

void run_rows(const Options& options) {
  Decoders decoders;
  Lab lab(soc_profile(options.soc), decoders);
  const std::vector<Row> rows = all_rows();
  std::vector<Result> results;
  for (const Row& row : rows) results.push_back(judge(row, lab));
  std::fputs(text_report(results, lab.profile()).c_str(), stdout);
  write(options.json, json_report(results, lab.profile()));
  write(options.html, html_report(results, lab.profile()));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  try {
    options.calibrate ? run_calibration(options) : run_rows(options);
  } catch (const Error& error) {
    std::fprintf(stderr, "paper-heterollm: %s\n", error.what());
    return 1;
  }
  return 0;
}
