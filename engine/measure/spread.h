// Samples of one duration, summed up.
#pragma once

#include <vector>

#include "engine/plan/prediction/matmul_point.h"

namespace tandem {

// Median, least and most of some samples. Zeros without any.
MeasuredSeconds spread_of(std::vector<double> seconds);

}  // namespace tandem
