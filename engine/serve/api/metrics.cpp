#include "engine/serve/api/metrics.h"

#include <algorithm>
#include <cmath>

namespace tandem::serve {
namespace {

constexpr int64_t kUsualOf = 8;  // texts that the moving mean is about
constexpr double kMostRetrySeconds = 600;

}  // namespace

void count(Metrics& metrics, const Generation& generation) {
  ++metrics.texts;
  if (generation.reason == StopReason::interrupted) ++metrics.cancelled;
  metrics.prompt_tokens += generation.prompt_tokens;
  metrics.cached_tokens += generation.cached_prefix_tokens;
  metrics.predicted_tokens += std::ssize(generation.ids);
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

std::string metrics_text(const Metrics& metrics, const TextService::Load& load) {
  std::string text;
  const auto add = [&](const char* name, const char* kind, const char* help, const std::string& value) {
    text += std::string("# HELP tandem_") + name + " " + help + "\n# TYPE tandem_" + name + " " + kind + "\ntandem_" +
            name + " " + value + "\n";
  };
  const auto counter = [&](const char* name, const char* help, int64_t value) {
    add(name, "counter", help, std::to_string(value));
  };
  const auto seconds = [&](const char* name, const char* help, int64_t us) {
    add(name, "counter", help, std::to_string(static_cast<double>(us) / 1e6));
  };
  const auto gauge = [&](const char* name, const char* help, int64_t value) {
    add(name, "gauge", help, std::to_string(value));
  };
  counter("requests_total", "HTTP requests that reached a route.", metrics.requests);
  counter("requests_refused_total", "Of these, answered with an error.", metrics.refused);
  counter("texts_total", "Texts that ended.", metrics.texts);
  counter("texts_cancelled_total", "Of these, cancelled.", metrics.cancelled);
  counter("texts_failed_total", "Texts that ended with an error.", metrics.failed);
  counter("turned_away_total", "Requests that found the line full (429).", metrics.turned_away);
  counter("prompt_tokens_total", "Tokens of prompts.", metrics.prompt_tokens);
  counter("cached_tokens_total", "Of these, not run again.", metrics.cached_tokens);
  counter("predicted_tokens_total", "Generated tokens.", metrics.predicted_tokens);
  seconds("prompt_seconds_total", "Time until the first logits, summed over texts.", metrics.prompt_us);
  seconds("predicted_seconds_total", "Time after them, summed over texts.", metrics.predicted_us);
  counter("passes_total", "Passes of the engine.", load.totals.passes);
  counter("pass_tokens_total", "Tokens of these passes.", load.totals.pass_tokens);
  gauge("texts_waiting", "Texts that wait for their turn.", load.waiting);
  gauge("texts_active", "Texts that are read or written.", load.active);
  return text;
}

}  // namespace tandem::serve
