// What commands that write texts share: options from flags, prompts as ids, and the report of a text.
#include "engine/app/commands/text/generation.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/app/commands/text/draft_report.h"
#include "engine/app/interrupt.h"
#include "engine/app/report.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

constexpr int64_t kCalibratedTokens = 32;  // of a prompt, in one pass

// The decimal that the user wrote: 0.95 and not the float's 0.949999988.
double decimal(float value) {
  char text[32];
  const auto [end, error] = std::to_chars(std::begin(text), std::end(text), value);
  return error == std::errc() ? std::strtod(std::string(text, end).c_str(), nullptr) : static_cast<double>(value);
}

}  // namespace

// A pass needs at least one token, because the first generated token comes from the logits of the last token in front
// of it.
std::vector<int32_t> prompt_ids(const CommonFlags& flags, const std::string& text, const Tokenizer& tokenizer) {
  EncodeOptions encode;
  encode.parse_special = !flags.no_special;
  std::vector<int32_t> ids = tokenizer.encode(text, encode);
  if (ids.empty() && tokenizer.bos() >= 0) ids.push_back(tokenizer.bos());
  if (ids.empty()) throw Error("the prompt is empty", flags.model, "This model has no start token; give some text");
  return ids;
}

// Ctrl-C interrupts a text between two passes, so its words so far are kept.
GenerateOptions generate_options(const CommonFlags& flags) {
  GenerateOptions options = flags.generate;
  options.sampler.seed = flags.seed.value;
  options.interrupted = [] { return interrupted(); };
  return options;
}

void print_drawn(const CommonFlags& flags, const Seed& seed) {
  if (seed.is_drawn && !flags.quiet()) std::fprintf(stderr, "%s\n", describe_drawn(seed).c_str());
}

int64_t decoded_tokens(const Generation& g) { return std::max<int64_t>(0, static_cast<int64_t>(g.ids.size()) - 1); }

double per_second(int64_t tokens, double seconds) { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }

// Each text has a row of logits for its newest token. All texts together may have as many drafts as one text.
EngineNeeds needs_of_texts(const CommonFlags& flags, int64_t texts, bool any_may_draft) {
  const SpecOptions& spec = flags.generate.spec;
  EngineNeeds needs;
  needs.sequences = texts;
  needs.spare_texts = spec.check ? texts : 0;
  needs.drafts = any_may_draft || spec.mode != SpecMode::none;
  needs.logit_rows = texts + (needs.drafts ? spec.draft_max : 0);
  // S2: so many tokens of a prompt get logits at once.
  if (spec.mode == SpecMode::sdnpu) needs.logit_rows = std::max(needs.logit_rows, texts + kCalibratedTokens);
  needs.may_join_later = true;
  return needs;
}

// The text, what is needed to generate it again, and times and sizes. The rate of the prompt counts only tokens that
// ran, without those of a saved or shared beginning. The rate of generation leaves out the first token, whose logits
// came with the prompt.
nlohmann::json generation_json(const Generation& g, std::span<const int32_t> prompt, bool is_chat,
                               const GenerateOptions& options, const Engine& engine) {
  const SamplerOptions& sampler = options.sampler;
  return {{"text", g.text},
          {"prompt_ids", std::vector<int32_t>(prompt.begin(), prompt.end())},
          {"ids", g.ids},
          {"stop_reason", to_string(g.reason)},
          {"chat", is_chat},
          {"seed", sampler.seed},
          {"temp", decimal(sampler.temperature)},
          {"top_k", sampler.top_k},
          {"top_p", decimal(sampler.top_p)},
          {"min_p", decimal(sampler.min_p)},
          {"repeat_penalty", decimal(sampler.repeat_penalty)},
          {"timings",
           {{"clock", "measured"},
            {"prompt_tokens", g.prompt_tokens},
            {"kept_tokens", g.cached_prefix_tokens},
            {"prompt_ms", g.prompt_seconds * 1e3},
            {"prompt_per_second", per_second(g.prompt_tokens - g.cached_prefix_tokens, g.prompt_seconds)},
            {"predicted_tokens", g.ids.size()},
            {"predicted_ms", g.predicted_seconds * 1e3},
            {"predicted_passes", g.predicted_passes},
            {"draft_n", g.drafts.drafts},
            {"draft_n_accepted", g.drafts.accepted},
            {"draft_passes", g.drafts.passes},
            {"predicted_per_second", per_second(decoded_tokens(g), g.predicted_seconds)}}},
          {"spec", drafts_json(g, options.spec)},
          {"device", engine.machine().device_names()},
          {"plan", engine.plans().name()},
          {"plan_asked", engine.options().plan},
          {"plan_ran", plans_json(engine.plans().ran().list())},
          {"act", to_string(*engine.options().act)},
          {"bits", bits_json(engine)},
          {"experts", experts_json(engine)},
          {"expert_store", expert_store_json(engine)},
          {"near_memory", near_memory_json(engine)},
          {"npu_memory", graph_loads_json(engine)},
          {"online_compile",
           {{"clock", "modelled"},
            {"graphs", engine.plans().online_compiles().graphs},
            {"ms", engine.plans().online_compiles().seconds * 1e3}}},
          {"memory",
           {{"activation_bytes", engine.activation_bytes()},
            {"cache_bytes", engine.cache().bytes()},
            {"weight_bytes", engine.model().weight_bytes()}}},
          {"context", engine.sizes().context}};
}

}  // namespace tandem::app
