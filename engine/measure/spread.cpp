#include "engine/measure/spread.h"

#include <utility>

#include "engine/plan/prediction/statistics.h"

namespace tandem {

MeasuredSeconds spread_of(std::vector<double> seconds) {
  const Distribution spread = summarise(std::move(seconds));
  return {spread.p50, spread.min, spread.max, spread.count};
}

}  // namespace tandem
