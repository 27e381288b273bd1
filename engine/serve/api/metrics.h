// Counters of a server for /metrics, in Prometheus' text form.
//
// Contract: counters are atomic; any thread adds to them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/generate.h"

namespace tandem::serve {

struct Metrics {
  std::atomic<int64_t> requests = 0, refused = 0;  // HTTP requests; those that were answered with 4xx or 5xx
  std::atomic<int64_t> texts = 0, cancelled = 0, failed = 0, turned_away = 0;
  std::atomic<int64_t> prompt_tokens = 0, cached_tokens = 0, predicted_tokens = 0, checked_tokens = 0;
  std::atomic<int64_t> prompt_us = 0, predicted_us = 0;  // of the engine, summed over texts
  std::atomic<int64_t> usual_us = 0;  // a moving mean of the time of a text that ended by itself; 0: none has
};

void count(Metrics& metrics, const Generation& generation);
// Seconds until a full line has so many places: of `active` texts in work, one ends in each active-th part of the usual
// time. At least 1, at most 600; 1 if no text has ended yet.
int64_t retry_seconds(const Metrics& metrics, int64_t active, int64_t places);
// A row of /metrics: its name without "tandem_", its kind ("counter", "gauge") and what it counts.
struct MetricFacts {
  const char *name, *kind, *help;
};
std::vector<MetricFacts> metric_facts();
std::string metrics_text(const Metrics& metrics, const TextService::Load& load);

}  // namespace tandem::serve
