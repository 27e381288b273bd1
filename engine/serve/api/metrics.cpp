// Counters as one table of rows. The text of /metrics and the description of the server are both made of it.
#include "engine/serve/api/metrics.h"

#include <algorithm>
#include <cmath>

namespace tandem::serve {
namespace {

constexpr int64_t kUsualOf = 8;  // texts that the moving mean is about
constexpr double kMostRetrySeconds = 600;

using Load = TextService::Load;

std::string whole(int64_t value) { return std::to_string(value); }
std::string seconds(int64_t us) { return std::to_string(static_cast<double>(us) / 1e6); }

// A row's description, and the function that makes its value of the counters and of the service's load.
struct Row {
  MetricFacts facts;
  std::string (*value)(const Metrics&, const Load&);
};
constexpr Row kRows[] = {
    {{"requests_total", "counter", "HTTP requests that reached a route."},
     [](const Metrics& metrics, const Load&) { return whole(metrics.requests); }},
    {{"requests_refused_total", "counter", "Of these, answered with an error."},
     [](const Metrics& metrics, const Load&) { return whole(metrics.refused); }},
    {{"texts_total", "counter", "Texts that ended."},
     [](const Metrics& metrics, const Load&) { return whole(metrics.texts); }},
    {{"texts_cancelled_total", "counter", "Of these, cancelled."},
     [](const Metrics& metrics, const Load&) { return whole(metrics.cancelled); }},
    {{"texts_failed_total", "counter", "Texts that ended with an error."},
     [](const Metrics& metrics, const Load&) { return whole(metrics.failed); }},
    {{"turned_away_total", "counter", "Requests that found the line full (429)."},
     [](const Metrics& metrics, const Load&) { return whole(metrics.turned_away); }},
    {{"prompt_tokens_total", "counter", "Tokens of prompts."},
     [](const Metrics& metrics, const Load&) { return whole(metrics.prompt_tokens); }},
    {{"cached_tokens_total", "counter", "Of these, not run again."},
     [](const Metrics& metrics, const Load&) { return whole(metrics.cached_tokens); }},
    {{"predicted_tokens_total", "counter", "Generated tokens."},
     [](const Metrics& metrics, const Load&) { return whole(metrics.predicted_tokens); }},
    {{"checked_tokens_total", "counter", "Of these, run again alone (--spec-check)."},
     [](const Metrics& metrics, const Load&) { return whole(metrics.checked_tokens); }},
    {{"prompt_seconds_total", "counter", "Time until the first logits, summed over texts."},
     [](const Metrics& metrics, const Load&) { return seconds(metrics.prompt_us); }},
    {{"predicted_seconds_total", "counter", "Time after them, summed over texts."},
     [](const Metrics& metrics, const Load&) { return seconds(metrics.predicted_us); }},
    {{"passes_total", "counter", "Passes of the engine."},
     [](const Metrics&, const Load& load) { return whole(load.totals.passes); }},
    {{"pass_tokens_total", "counter", "Tokens of these passes."},
     [](const Metrics&, const Load& load) { return whole(load.totals.pass_tokens); }},
    {{"texts_waiting", "gauge", "Texts that wait for their turn."},
     [](const Metrics&, const Load& load) { return whole(load.waiting); }},
    {{"texts_active", "gauge", "Texts that are read or written."},
     [](const Metrics&, const Load& load) { return whole(load.active); }},
};

}  // namespace

// A cancelled text says nothing about how long a text takes, so the moving mean leaves it out.
void count(Metrics& metrics, const Generation& generation) {
  ++metrics.texts;
  if (generation.reason == StopReason::interrupted) ++metrics.cancelled;
  metrics.prompt_tokens += generation.prompt_tokens;
  metrics.cached_tokens += generation.cached_prefix_tokens;
  metrics.predicted_tokens += std::ssize(generation.ids);
  metrics.checked_tokens += generation.drafts.checked;
  metrics.prompt_us += std::llround(generation.prompt_seconds * 1e6);
  metrics.predicted_us += std::llround(generation.predicted_seconds * 1e6);
  const int64_t us = std::llround((generation.prompt_seconds + generation.predicted_seconds) * 1e6);
  if (generation.reason == StopReason::interrupted || us <= 0) return;
  const int64_t usual = metrics.usual_us;
  metrics.usual_us = usual == 0 ? us : usual + (us - usual) / kUsualOf;
}

int64_t retry_seconds(const Metrics& metrics, int64_t active, int64_t places) {
  const double usual = static_cast<double>(metrics.usual_us) / 1e6;
  const double until = usual * static_cast<double>(places) / static_cast<double>(std::max<int64_t>(active, 1));
  return static_cast<int64_t>(std::ceil(std::clamp(until, 1.0, kMostRetrySeconds)));
}

std::vector<MetricFacts> metric_facts() {
  std::vector<MetricFacts> facts;
  for (const Row& row : kRows) facts.push_back(row.facts);
  return facts;
}

// Prometheus wants the help and the type in front of each value.
std::string metrics_text(const Metrics& metrics, const TextService::Load& load) {
  std::string text;
  for (const auto& [facts, value] : kRows) {
    const std::string name = std::string("tandem_") + facts.name;
    text += "# HELP " + name + " " + facts.help + "\n# TYPE " + name + " " + facts.kind + "\n" + name + " " +
            value(metrics, load) + "\n";
  }
  return text;
}

}  // namespace tandem::serve
