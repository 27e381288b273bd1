// A row to which an operator adds a bias. The row's values show which weights the device used.
#pragma once

#include <algorithm>

#include "engine/device/operator.h"
#include "sync/pool.h"

namespace tandem::test {

struct BiasCase {
  static constexpr int64_t kWidth = 40;

  explicit BiasCase(sync::Pool& pool)
      : x(pool.acquire(kWidth * sizeof(float), sync::SlotUse::activations, "x")),
        weights(pool.acquire(kWidth * sizeof(float), sync::SlotUse::weights, "bias")),
        op{"bias", Bias{1, kWidth, {&x, 0}, kWidth, {&weights, 0}}} {
    std::fill_n(x.as<float>(), kWidth, 0.0f);
    set_weights(2);
  }
  void set_weights(float value) { std::fill_n(weights.as<float>(), kWidth, value); }
  float last() const { return x.as<float>()[kWidth - 1]; }

  sync::Slot &x, &weights;
  Operator op;
};

}  // namespace tandem::test
