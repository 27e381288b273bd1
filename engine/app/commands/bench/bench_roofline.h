// --roofline of `tandem bench`: compares a row's rate with what the cores can do, measured in the same minute.
//
// Contract: nothing here is modelled; rates are the row's means. Work is counted from the plans that ran
// (engine/measure/roofline.h). The cores are those on which the engine's devices compute. A device that computes on
// none of them (a real GPU) has another roof; then there are no shares.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/app/commands/bench/bench_row.h"
#include "engine/measure/roofline.h"
#include "engine/measure/roofline_probe.h"
#include "engine/run/engine.h"

namespace tandem::app {

// A pass of Engine::extend().
struct BenchPass {
  Batch batch;
  int64_t first_position = 0;
  bool operator==(const BenchPass&) const = default;
};
std::vector<BenchPass> passes_of(const BenchRow& row, int64_t chunk);  // of one repetition

class BenchRoofline {
 public:
  explicit BenchRoofline(Engine& engine);

  void measure_peaks() { measured_.push_back(probe_.measure(*engine_.options().act == ActType::i8)); }
  // The row's work, and the medians of the peaks measured since the row before.
  RowRoofline take(const BenchRow& row);
  void print_table(const std::vector<BenchRow>& rows) const;

 private:
  void print_int8_peaks(const std::vector<BenchRow>& rows) const;

  Engine& engine_;
  RooflineProbe probe_;
  std::string elsewhere_;  // devices that compute on no host core
  std::vector<CorePeaks> measured_;
};

// Adds a row's figures to its JSON object, if the row has any.
void add_roofline(nlohmann::json& object, const BenchRow& row);

}  // namespace tandem::app
