#include "engine/app/commands/bench/bench_breakdown.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace tandem::app {
namespace {

constexpr const char* kWholeSteps = "the device times whole steps, not their operators.";
constexpr const char* kAlone =
    "Single tokens were launched kernel by kernel to be recorded; otherwise a pass is one launch.";

// GB or GFLOP a second. Waits and idle time move no bytes, so their cell stays empty.
std::string rate(double amount, double seconds) {
  if (amount <= 0 || seconds <= 0) return "";
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", amount / seconds * 1e-9);
  return text;
}

void print_line(const BreakdownLine& line, double wall_seconds) {
  std::printf("| %s | %s | %s | %.3f | %.1f %% | %s | %s |\n", line.device.c_str(), line.what.c_str(),
              line.launches > 0 ? std::to_string(line.launches).c_str() : "", line.seconds * 1e3,
              100 * line.seconds / wall_seconds, rate(line.bytes, line.seconds).c_str(),
              rate(line.flops, line.seconds).c_str());
}

}  // namespace

// Shares refer to the wall clock of the recorded repetition. It may take longer than the timed ones, so both times are
// in the heading.
void print_breakdown(const BenchRow& row) {
  if (!row.breakdown) return;
  const Breakdown& breakdown = *row.breakdown;
  std::printf("\n%s: %lld recorded pass%s, %.2f ms (%.2f ms when nothing is recorded)\n\n", row.test().c_str(),
              static_cast<long long>(breakdown.passes), breakdown.passes == 1 ? "" : "es", breakdown.wall_seconds * 1e3,
              mean_and_spread(row.seconds).mean * 1e3);
  std::printf("| device | time in | launches | ms | share | GB/s | GFLOP/s |\n");
  std::printf("| --- | --- | ---: | ---: | ---: | ---: | ---: |\n");
  for (const BreakdownLine& line : breakdown.lines) print_line(line, breakdown.wall_seconds);
  const auto whole_steps = [](const BreakdownLine& line) { return line.what == kSeveral; };
  if (std::ranges::any_of(breakdown.lines, whole_steps)) std::printf("\n%s: %s\n", kSeveral, kWholeSteps);
  if (breakdown.alone) std::printf("\n%s\n", kAlone);
  for (const std::string& complaint : breakdown.complaints()) std::printf("\nNotice: %s.\n", complaint.c_str());
}

// The same lines as in the table. Rates are left out, because readers can compute them from bytes, flops and ms.
void add_breakdown(nlohmann::json& object, const BenchRow& row) {
  if (!row.breakdown) return;
  const Breakdown& breakdown = *row.breakdown;
  nlohmann::json lines = nlohmann::json::array();
  for (const BreakdownLine& line : breakdown.lines) {
    lines.push_back({{"device", line.device},
                     {"what", line.what},
                     {"launches", line.launches},
                     {"ms", line.seconds * 1e3},
                     {"share", line.seconds / breakdown.wall_seconds},
                     {"bytes", line.bytes},
                     {"flops", line.flops}});
  }
  object["breakdown"] = {{"passes", breakdown.passes},
                         {"wall_ms", breakdown.wall_seconds * 1e3},
                         {"kernel_by_kernel", breakdown.alone},
                         {"lines", std::move(lines)},
                         {"notices", breakdown.complaints()}};
}

}  // namespace tandem::app
