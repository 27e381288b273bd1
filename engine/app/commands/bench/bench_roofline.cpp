#include "engine/app/commands/bench/bench_roofline.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/measure/roofline_loops.h"
#include "packed/loops/loops.h"

namespace tandem::app {
namespace {

// Host cores on which any device computes; those of the GPU if no device names its cores.
std::vector<int> used_cores(const Engine& engine) {
  std::set<int> cores;
  for (const DeviceInfo* device : engine.machine().infos()) cores.insert(device->cores.begin(), device->cores.end());
  if (cores.empty()) cores.insert(engine.machine().layout().gpu.begin(), engine.machine().layout().gpu.end());
  return {cores.begin(), cores.end()};
}

// A device without host cores, such as a card, has another roof than this machine's cores.
std::string devices_elsewhere(const Engine& engine) {
  std::string names;
  for (const DeviceInfo* device : engine.machine().infos()) {
    if (device->cores.empty()) names += (names.empty() ? "" : ", ") + device->id;
  }
  return names;
}

// Shares at the row's mean rate.
RooflineShares shares_of(const BenchRow& row) {
  const double seconds = static_cast<double>(row.tokens()) / mean_and_spread(row.rates()).mean;
  return against(row.roofline->peaks, row.roofline->work, seconds);
}

// 0 means that there is no share, because the peak was not measured or is no roof.
std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%", 100 * share);
  return share > 0 ? text : "-";
}

}  // namespace

// A prompt is read in chunks, of which only the last has logits. Generated tokens are single passes.
std::vector<BenchPass> passes_of(const BenchRow& row, int64_t chunk) {
  std::vector<BenchPass> passes;
  const int64_t piece = row.n_gen == 0 ? chunk : 1;
  for (int64_t done = 0; done < row.tokens(); done += piece) {
    const int64_t S = std::min(piece, row.tokens() - done);
    const bool has_logits = row.n_gen > 0 || done + S == row.tokens();
    passes.push_back({{S, has_logits ? 1 : 0}, row.n_depth + done});
  }
  return passes;
}

BenchRoofline::BenchRoofline(Engine& engine)
    : engine_(engine), probe_(used_cores(engine)), elsewhere_(devices_elsewhere(engine)) {}

// Sums the work of the plans that the engine takes for the row's passes. Nothing runs here: plans tell the bytes and
// operations, and the row's times tell the rate.
RowRoofline BenchRoofline::take(const BenchRow& row) {
  RowRoofline roofline;
  for (const BenchPass& pass : passes_of(row, engine_.sizes().tokens)) {
    const Plan plan = engine_.plans().planner().plan_for(pass.batch, pass.first_position);
    const Work work = useful_work(plan.steps, pass.first_position);
    roofline.work.flops += work.flops;
    roofline.work.bytes += work.bytes;
  }
  roofline.peaks = median_of(std::exchange(measured_, {}));
  roofline.is_roof = elsewhere_.empty();
  return roofline;
}

// With 8-bit activations the share of the f32 peak may exceed 1. The int8 peak is the roof then.
void BenchRoofline::print_int8_peaks(const std::vector<BenchRow>& rows) const {
  if (*engine_.options().act != ActType::i8) return;
  std::printf("\n| test | GOP/s | int8 peak, 1 core | all cores | share |\n| ---: | ---: | ---: | ---: | ---: |\n");
  for (const BenchRow& row : rows) {
    const RooflineShares of = shares_of(row);
    const CorePeaks& peaks = row.roofline->peaks;
    std::printf("| %s | %.2f | %.1f | %.1f | %s |\n", row.test().c_str(), of.gflops, peaks.int8_one_gops,
                peaks.int8_all_gops, percent(row.roofline->is_roof ? of.int8_share : 0).c_str());
  }
  std::printf(
      "\nThe int8 peak is that of %s: multiply-adds of codes and 8-bit activations, counted as two operations.\n",
      best_packed_loops().act->name);
}

// Two roofs stand side by side: bytes read against the memory's rate, and operations against the multiply-adds of the
// cores. The larger share names the limit of the test (Williams and others, 2009).
void BenchRoofline::print_table(const std::vector<BenchRow>& rows) const {
  std::printf(
      "\n| test | MB/token | GB/s | memory read GB/s, 1 thread | all cores | share | GFLOP/s | FMA peak, 1 core | "
      "all cores | share |\n");
  std::printf("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const BenchRow& row : rows) {
    const RooflineShares of = shares_of(row);
    const CorePeaks& peaks = row.roofline->peaks;
    std::printf("| %s | %.2f | %.2f | %.1f | %.1f | %s | %.2f | %.1f | %.1f | %s |\n", row.test().c_str(),
                row.roofline->work.bytes / static_cast<double>(row.tokens()) * 1e-6, of.gbps, peaks.read_one_gbps,
                peaks.read_all_gbps, percent(row.roofline->is_roof ? of.read_share : 0).c_str(), of.gflops,
                peaks.fma_one_gflops, peaks.fma_all_gflops, percent(row.roofline->is_roof ? of.fma_share : 0).c_str());
  }
  std::string cores;
  for (int core : probe_.cores()) cores += (cores.empty() ? "" : ",") + std::to_string(core);
  std::printf(
      "\nPeaks were measured between the repetitions (medians) on core%s %s: f32 %s with %s, a buffer of %zu MiB.\n",
      probe_.cores().size() == 1 ? "" : "s", cores.c_str(),
      roofline_loops().fused ? "fused multiply-adds" : "multiplications and additions",
      roofline_loops().instruction_set, probe_.buffer_bytes() >> 20);
  print_int8_peaks(rows);
  if (!elsewhere_.empty())
    std::printf("%s computes on none of these cores: their peaks are not its roof.\n", elsewhere_.c_str());
}

// Shares are null if the peaks are no roof of the row. Rates are those of the row's mean. The int8 keys exist only if
// int8 peaks were measured.
void add_roofline(nlohmann::json& object, const BenchRow& row) {
  if (!row.roofline) return;
  const RooflineShares of = shares_of(row);
  const auto& [work, peaks, is_roof] = *row.roofline;
  object["bytes_per_token"] = work.bytes / static_cast<double>(row.tokens());
  object["gbps"] = of.gbps;
  object["dram_read_gbps"] = peaks.read_all_gbps;
  object["dram_read_one_thread_gbps"] = peaks.read_one_gbps;
  object["flops"] = work.flops;
  object["gflops"] = of.gflops;
  object["fma_peak_gflops"] = peaks.fma_all_gflops;
  object["fma_peak_one_core_gflops"] = peaks.fma_one_gflops;
  object["fma_instruction_set"] = roofline_loops().instruction_set;
  object["dram_share"] = is_roof ? nlohmann::json(of.read_share) : nullptr;
  object["fma_share"] = is_roof ? nlohmann::json(of.fma_share) : nullptr;
  if (peaks.int8_all_gops == 0) return;  // the row used f32 products only
  object["int8_peak_gops"] = peaks.int8_all_gops;
  object["int8_peak_one_core_gops"] = peaks.int8_one_gops;
  object["int8_instruction_set"] = best_packed_loops().act->name;
  object["int8_share"] = is_roof ? nlohmann::json(of.int8_share) : nullptr;
}

}  // namespace tandem::app
