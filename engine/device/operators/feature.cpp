#include "engine/device/operators/feature.h"

#include <bit>

namespace tandem {

std::optional<Feature> Features::first_outside(Features others) const {
  const uint64_t outside = bits_ & ~others.bits_;
  if (outside == 0) return std::nullopt;
  return static_cast<Feature>(std::countr_zero(outside));
}

std::vector<Feature> Features::list() const {
  std::vector<Feature> features;
  for (uint64_t left = bits_; left != 0; left &= left - 1)
    features.push_back(static_cast<Feature>(std::countr_zero(left)));
  return features;
}

}  // namespace tandem
