#include "engine/app/commands/run_lines.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "engine/app/command.h"
#include "engine/app/commands/generation.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/interrupt.h"
#include "engine/app/report.h"
#include "engine/app/text_input.h"
#include "engine/run/generate.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

constexpr const char* kExample = R"(A line is {"prompt": "text"}, with "n_predict" and "seed" where they differ)";

[[noreturn]] void refuse(const std::string& what) { throw Error("this line is no prompt", what, kExample); }

int64_t whole_number(const nlohmann::json& value, const std::string& key, int64_t least) {
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX}) ||
      value.get<int64_t>() < least)
    refuse("\"" + key + "\" is a whole number from " + std::to_string(least) + " on");
  return value.get<int64_t>();
}

// The tokens whose keys and values are in the engine's context.
class ContextTokens {
 public:
  explicit ContextTokens(Engine& engine) : engine_(engine) {}

  // Rewinds to what the prompt has in common with them, and says how much that is. The last token of a prompt is run
  // in any case, for its logits; where passes of other lengths may give other bits, all of it is.
  int64_t keep_for(std::span<const int32_t> prompt) {
    int64_t kept = 0;
    if (!engine_.bits_depend_on_passes()) {
      const auto most = static_cast<std::ptrdiff_t>(std::min(ids_.size(), prompt.size() - 1));
      kept = std::mismatch(ids_.begin(), ids_.begin() + most, prompt.begin()).first - ids_.begin();
    }
    engine_.rewind(kept);
    ids_.resize(static_cast<size_t>(kept));
    return kept;
  }
  void have(std::span<const int32_t> prompt, std::span<const int32_t> generated) {
    ids_.assign(prompt.begin(), prompt.end());
    ids_.insert(ids_.end(), generated.begin(), generated.end());
    ids_.resize(std::min(ids_.size(), static_cast<size_t>(engine_.position())));
  }
  // After a failure nobody knows how far it came.
  void forget() {
    engine_.rewind(0);
    ids_.clear();
  }

 private:
  Engine& engine_;
  std::vector<int32_t> ids_;
};

struct Sums {
  int64_t prompts = 0, broken = 0, prompt_tokens = 0, kept = 0, generated = 0;
};

void print_summary(const Sums& sums, double seconds, const Engine& engine) {
  std::fprintf(stderr,
               "%lld prompts of %lld tokens, %lld of them shared with the prompt before; generated %lld tokens; %.1f "
               "tokens/s in all (measured); %lld lines failed; device %s; plan %s\n",
               static_cast<long long>(sums.prompts), static_cast<long long>(sums.prompt_tokens),
               static_cast<long long>(sums.kept), static_cast<long long>(sums.generated),
               per_second(sums.prompt_tokens - sums.kept + sums.generated, seconds),
               static_cast<long long>(sums.broken), engine.device_names().c_str(), engine.plan_name().c_str());
}

}  // namespace

PromptLine parse_prompt_line(std::string_view text) {
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  if (object.is_discarded()) refuse("it is not JSON");
  if (!object.is_object()) refuse("it is no object");
  PromptLine line;
  for (const auto& [key, value] : object.items()) {
    if (key == "prompt") {
      if (!value.is_string()) refuse("\"prompt\" is no text");
      line.prompt = value;
    } else if (key == "n_predict") {
      line.predict = whole_number(value, key, -1);
    } else if (key == "seed") {
      line.seed = static_cast<uint64_t>(whole_number(value, key, 0));
    } else {
      refuse("it has the key \"" + key + "\"");
    }
  }
  if (!object.contains("prompt")) refuse("it has no \"prompt\"");
  return line;
}

int run_lines_command(const CommonFlags& flags, const std::string& path) {
  apply_verbosity(flags);
  std::ifstream file;
  if (path != "-") file = open_file(path);
  std::istream& lines = path == "-" ? std::cin : file;
  const auto engine = open_engine(flags, {.may_join_later = true});
  print_notes(flags, *engine);
  TraceFile trace(flags, *engine);
  ContextTokens context(*engine);
  Sums sums;
  bool stopped = false;
  const double start = now_seconds();
  int64_t number = 0;
  for (std::string text; !stopped && std::getline(lines, text);) {
    ++number;
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    nlohmann::json answer;
    bool began = false;
    try {
      const PromptLine line = parse_prompt_line(text);
      const std::vector<int32_t> prompt = prompt_ids(flags, line.prompt, engine->tokenizer());
      GenerateOptions options = generate_options(flags);
      if (line.predict) options.predict = *line.predict;
      if (line.seed) options.sampler.seed = *line.seed;
      began = true;
      options.kept = context.keep_for(prompt);
      engine->forget_plans_ran();
      const Generation result = generate(*engine, prompt, options);
      context.have(prompt, result.ids);
      answer = generation_json(result, prompt, *engine);
      stopped = result.reason == StopReason::interrupted;
      ++sums.prompts;
      sums.prompt_tokens += result.prompt_tokens;
      sums.kept += result.kept_tokens;
      sums.generated += std::ssize(result.ids);
    } catch (const Error& error) {
      if (began) context.forget();
      answer = error_json(error);
      ++sums.broken;
      std::fprintf(stderr, "tandem: line %lld of %s: %s\n", static_cast<long long>(number), path.c_str(), error.what());
    }
    answer["line"] = number;
    print_json(answer);
  }
  if (lines.bad()) throw Error("cannot read the prompts", path, std::strerror(errno));
  trace.finish();
  if (!flags.quiet()) print_summary(sums, now_seconds() - start, *engine);
  return stopped || interrupted() ? kInterrupted : sums.broken > 0 ? kFailed : kDone;
}

}  // namespace tandem::app
