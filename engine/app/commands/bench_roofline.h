// --roofline of `tandem bench`: how a row's rate stands against what the cores can do, measured in the same minute.
//
// Contract: nothing here is modelled; rates are the row's mean ones. Work is counted from the plans as they ran
// (engine/measure/roofline.h). The cores are those that the engine's devices compute on. Where a device computes on
// none of them (a real GPU), the cores' peaks are no roof of the row, and there are no shares.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/app/commands/bench_row.h"
#include "engine/measure/roofline.h"
#include "engine/measure/roofline_probe.h"
#include "engine/run/engine.h"

namespace tandem::app {

// A pass as Engine::extend() makes it.
struct BenchPass {
  Batch batch;
  int64_t first_position = 0;
  bool operator==(const BenchPass&) const = default;
};
std::vector<BenchPass> passes_of(const BenchRow& row, int64_t chunk);  // of one repetition

class BenchRoofline {
 public:
  explicit BenchRoofline(Engine& engine);

  void measure_peaks() { measured_.push_back(probe_.measure(engine_.act() == ActType::i8)); }
  // What the row did and the medians of the peaks that were measured since the row before.
  RowRoofline take(const BenchRow& row);
  void print_table(const std::vector<BenchRow>& rows) const;

 private:
  void print_int8_peaks(const std::vector<BenchRow>& rows) const;

  Engine& engine_;
  RooflineProbe probe_;
  std::string elsewhere_;  // devices that compute on no known core
  std::vector<CorePeaks> measured_;
};

// Adds a row's figures to its JSON object; without them nothing.
void add_roofline(nlohmann::json& object, const BenchRow& row);

}  // namespace tandem::app
