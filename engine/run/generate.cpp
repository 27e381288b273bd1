#include "engine/run/generate.h"

#include <algorithm>
#include <utility>

#include "engine/model/tokenizer/utf8.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {

const char* to_string(StopReason reason) {
  switch (reason) {
    case StopReason::end_of_text:
      return "eos";
    case StopReason::length:
      return "length";
    case StopReason::stop_string:
      return "stop";
    case StopReason::context_full:
      return "context_full";
    case StopReason::interrupted:
      return "interrupted";
  }
  return "";
}

Generation generate(Engine& engine, std::span<const int32_t> prompt, const GenerateOptions& options) {
  TANDEM_CHECK(!prompt.empty(), "a prompt has at least one token");
  Generation result;
  result.prompt_tokens = static_cast<int64_t>(prompt.size());
  result.kept_tokens = options.kept;
  TANDEM_CHECK(options.kept >= 0 && options.kept < result.prompt_tokens, "the last token of a prompt is run");
  Sampler sampler(options.sampler);
  for (int32_t id : prompt) sampler.accept(id);
  Utf8Stream characters;
  StopMatcher matcher(options.stop);
  const auto print = [&](const std::string& text) {
    if (text.empty()) return;
    result.text += text;
    if (options.on_text) options.on_text(text);
  };
  const auto asked_to_stop = [&] { return options.interrupted && options.interrupted(); };

  engine.interrupted = options.interrupted;
  engine.get_ready(result.prompt_tokens - options.kept,
                   options.predict < 0 || options.predict > 1);  // no token pays for planning
  if (options.on_ready) options.on_ready();
  const double start = now_seconds();
  std::span<const float> logits;
  try {
    logits = engine.extend(prompt.subspan(static_cast<size_t>(options.kept)));
  } catch (const Engine::Interrupted&) {
    result.reason = StopReason::interrupted;
    result.prompt_seconds = now_seconds() - start;
    return result;
  }
  const double first_logits = now_seconds();
  result.prompt_seconds = first_logits - start;

  while (true) {
    if (options.predict >= 0 && static_cast<int64_t>(result.ids.size()) >= options.predict) {
      result.reason = StopReason::length;
      break;
    }
    if (asked_to_stop()) {
      result.reason = StopReason::interrupted;
      break;
    }
    const int32_t id = sampler.sample(logits);
    result.ids.push_back(id);
    if (engine.tokenizer().is_end(id) && !options.ignore_end) {
      result.reason = StopReason::end_of_text;
      break;
    }
    print(matcher.push(characters.push(engine.tokenizer().piece(id, options.print_special))));
    if (matcher.stopped()) {
      result.reason = StopReason::stop_string;
      break;
    }
    if (options.predict >= 0 && static_cast<int64_t>(result.ids.size()) >= options.predict)
      continue;  // no logits needed
    if (engine.position() + 1 > engine.context()) {
      result.reason = StopReason::context_full;
      break;
    }
    logits = engine.extend(std::span(&id, 1));
  }
  if (!matcher.stopped()) {
    print(matcher.push(characters.flush()));
    print(matcher.flush());
  }
  result.predicted_seconds = now_seconds() - first_logits;
  return result;
}

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

// A stop string may arrive in pieces. What could be the beginning of one is held back until the next piece decides:
// either the string is complete, and nothing from its first character on is given out, or it never was one.
std::string StopMatcher::push(std::string_view text) {
  if (stopped_) return "";
  held_ += text;
  size_t first = std::string::npos;
  for (const std::string& stop : stops_) first = std::min(first, held_.find(stop));
  if (first != std::string::npos) {
    stopped_ = true;
    std::string before = held_.substr(0, first);
    held_.clear();
    return before;
  }
  // The longest end of the text that begins a stop string stays back.
  size_t keep = 0;
  for (const std::string& stop : stops_) {
    for (size_t length = std::min(stop.size() - 1, held_.size()); length > keep; --length) {
      if (std::string_view(held_).substr(held_.size() - length) == std::string_view(stop).substr(0, length)) {
        keep = length;
        break;
      }
    }
  }
  std::string ready = held_.substr(0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return ready;
}

std::string StopMatcher::flush() { return std::exchange(held_, ""); }

}  // namespace tandem
