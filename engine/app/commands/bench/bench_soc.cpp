#include "engine/app/commands/bench/bench_soc.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace tandem::app {

// Every piece of a prompt is planned behind the pieces before it, as attention takes longer there.
double modelled_rate(const SocClock& clock, const BenchRow& row, int64_t chunk) {
  if (row.n_gen > 0) return static_cast<double>(row.n_gen) / clock.tokens(row.n_gen, row.n_depth).seconds;
  double seconds = 0;
  for (int64_t first = 0; first < row.n_prompt; first += chunk)
    seconds += clock.prompt(std::min(chunk, row.n_prompt - first), row.n_depth + first).seconds;
  return static_cast<double>(row.n_prompt) / seconds;
}

void print_soc_table(const SocClock& clock, const std::vector<BenchRow>& rows, int64_t chunk) {
  std::printf("\n| soc | plan | clock | test | t/s |\n| --- | --- | --- | --- | ---: |\n");
  for (const BenchRow& row : rows) {
    std::printf("| %s | %s | modelled | %s | %.2f |\n", clock.profile().name.c_str(), clock.strategy().c_str(),
                row.test().c_str(), modelled_rate(clock, row, chunk));
  }
}

void add_model_clock(nlohmann::json& object, const SocClock& clock, const BenchRow& row, int64_t chunk) {
  object["model_clock"] = {{"clock", "modelled"},
                           {"soc", clock.profile().name},
                           {"plan", clock.strategy()},
                           {"avg_ts", modelled_rate(clock, row, chunk)}};
}

}  // namespace tandem::app
