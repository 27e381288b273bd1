#include "engine/serve/api/metrics.h"

#include <cmath>

namespace tandem::serve {

void count(Metrics& metrics, const Generation& generation) {
  ++metrics.texts;
  if (generation.reason == StopReason::interrupted) ++metrics.cancelled;
  metrics.prompt_tokens += generation.prompt_tokens;
  metrics.cached_tokens += generation.cached_prefix_tokens;
  metrics.predicted_tokens += std::ssize(generation.ids);
  metrics.prompt_us += std::llround(generation.prompt_seconds * 1e6);
  metrics.predicted_us += std::llround(generation.predicted_seconds * 1e6);
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
