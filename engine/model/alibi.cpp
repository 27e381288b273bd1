#include "engine/model/alibi.h"

#include <bit>
#include <cmath>

namespace tandem {

std::vector<float> alibi_slopes(int64_t heads, float most) {
  const auto whole = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  const double step = static_cast<double>(most) / static_cast<double>(whole);
  std::vector<float> slopes;
  for (int64_t head = 0; head < heads; ++head) {
    const double steps = head < whole ? static_cast<double>(head + 1) : static_cast<double>(head - whole) + 0.5;
    slopes.push_back(static_cast<float>(std::exp2(-step * steps)));
  }
  return slopes;
}

}  // namespace tandem
