// Counters of a server for /metrics, in Prometheus' text form.
//
// Contract: counters are atomic; any thread adds to them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "tandem/generate.h"

namespace tandem::serve {

struct Metrics {
  std::atomic<int64_t> requests = 0, refused = 0;  // HTTP requests; those that were answered with 4xx or 5xx
  std::atomic<int64_t> texts = 0, cancelled = 0, failed = 0, turned_away = 0;
  std::atomic<int64_t> prompt_tokens = 0, cached_tokens = 0, predicted_tokens = 0;
  std::atomic<int64_t> prompt_us = 0, predicted_us = 0;  // of the engine, summed over texts
};

void count(Metrics& metrics, const Generation& generation);
std::string metrics_text(const Metrics& metrics, const TextService::Load& load);

}  // namespace tandem::serve
