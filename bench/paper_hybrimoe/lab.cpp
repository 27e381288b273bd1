#include "bench/paper_hybrimoe/lab.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/moe/cache_replay.h"
#include "engine/moe/schedules/schedule_rule.h"
#include "sync/error.h"

namespace tandem::paper_hybrimoe {
namespace {

// A text runs some tokens untimed first, since its caches begin with the popular experts and not with its own.
constexpr int64_t kWarmTokens = 32, kTimedTokens = 64, kPromptsDrawn = 3;

// The engine's default is the best schedule that it finds (schedule_rule.h). Here no GPU time depends on the load, and
// `counts` is then the optimum.
constexpr const char* kDefaultSchedule = "counts";

// The rules of an engine in one of the two phases.
struct Behaviour {
  const char* schedule;
  CacheRule cache = CacheRule::fixed;
  bool prefetches = false;
  bool inserts_misses = false;  // else only what was moved enters the cache
};

// Y7: the rules of each engine. Baselines differ in how misses run, in what their cache is, and in
// whether they prefetch.
Behaviour behaviour_of(EngineKind engine, bool text) {
  const char* miss = text ? "fixed" : "gpu-only";  // Table I: kTransformers computes on the processor in text alone
  switch (engine) {
    case EngineKind::adapmoe:
      return {"gpu-only", CacheRule::lru, true, false};
    case EngineKind::kt_on_cpu:
      return {"fixed"};
    case EngineKind::scheduling:
      return {kDefaultSchedule};
    case EngineKind::prefetching:
      return {miss, CacheRule::fixed, true, false};
    case EngineKind::caching:
      return {miss, CacheRule::mrs, false, true};
    case EngineKind::hybrimoe:
      return {kDefaultSchedule, CacheRule::mrs, true, false};
    case EngineKind::greedy:
      return {"greedy", CacheRule::mrs, true, false};
    case EngineKind::llama_cpp:
    case EngineKind::kt:
      break;
  }
  return {miss};
}

// How many of the tokens chose each expert. Experts without tokens are left out.
LayerLoads drawn_loads(DrawnLayer& layer, int64_t experts, int64_t tokens) {
  std::vector<int64_t> counts(static_cast<size_t>(experts));
  for (int64_t token = 0; token < tokens; ++token) {
    layer.next();
    for (const int32_t expert : layer.chosen()) ++counts[static_cast<size_t>(expert)];
  }
  LayerLoads drawn;
  for (int32_t expert = 0; expert < experts; ++expert) {
    if (counts[static_cast<size_t>(expert)] == 0) continue;
    drawn.active.push_back(expert);
    drawn.loads.push_back(counts[static_cast<size_t>(expert)]);
  }
  return drawn;
}

// Each layer has popularities of its own, the same ones for every engine.
std::vector<DrawnLayer> drawn_layers(Mixture model) {
  const MixtureSize& size = size_of(model);
  std::vector<DrawnLayer> layers;
  for (int64_t l = 0; l < size.layers; ++l)
    layers.emplace_back(routing_of(model), size.experts, size.used,
                        1000 * (static_cast<uint64_t>(model) + 1) + static_cast<uint64_t>(l));
  return layers;
}

// One engine in one setting: caches and routing of all layers, and the link's idle time.
class Passes {
 public:
  Passes(const Machine& machine, Mixture model, int percent, EngineKind engine, bool text, Prefetch prefetch)
      : machine_(machine),
        model_(model),
        size_(size_of(model)),
        costs_(costs_of(machine, model)),
        behaviour_(behaviour_of(engine, text)),
        rule_(*find_schedule_rule(behaviour_.schedule)),
        prefetch_(prefetch),
        // Y7: llama.cpp has the first layers on the GPU.
        whole_layers_(engine == EngineKind::llama_cpp ? std::optional(size_.layers * percent / 100) : std::nullopt) {
    // Caches begin with the most popular experts, as a warm-up would fill them.
    layers_ = drawn_layers(model);
    for (const DrawnLayer& layer : layers_) {
      std::vector<int32_t> popular = layer.by_popularity();
      popular.resize(static_cast<size_t>(cached_experts(model, percent)));
      caches_.emplace_back(behaviour_.cache, size_.experts, std::ssize(popular), popular);
    }
  }

  // The next token of a text.
  double token_ms() {
    loads_.clear();
    for (DrawnLayer& layer : layers_) loads_.push_back(drawn_loads(layer, size_.experts, 1));
    return pass_ms(1);
  }
  // A prompt. The caches stay as they are: each layer is asked once.
  double prompt_ms(const PassLoads& loads, int64_t tokens) {
    loads_ = loads;
    return pass_ms(tokens);
  }

 private:
  // A pass runs layer by layer, and fetched experts count in this pass alone.
  double pass_ms(int64_t tokens) {
    fetched_.assign(layers_.size(), {});
    double ms = 0;
    for (size_t l = 0; l < layers_.size(); ++l) ms += layer_ms(l, tokens);
    return ms;
  }

  bool holds(size_t l, int32_t expert) const {
    return caches_[l].has(expert) || std::ranges::find(fetched_[l], expert) != fetched_[l].end();
  }

  // The schedule of a layer with what its cache holds, and perhaps one expert more: its gain is that expert's worth.
  ExpertSchedule schedule(const LayerLoads& of, size_t l, std::optional<int32_t> also = {}) const {
    std::vector<int32_t> cached;
    for (size_t i = 0; i < of.active.size(); ++i)
      if (holds(l, of.active[i]) || of.active[i] == also) cached.push_back(static_cast<int32_t>(i));
    return rule_.make({of.loads, cached, costs_});
  }

  // A layer's time is that of what stands before its experts and the longest lane of the schedule. Moved experts keep
  // the link busy, and the rest of the layer's time is idle for prefetches.
  double layer_ms(size_t l, int64_t tokens) {
    const LayerLoads& of = loads_[l];
    if (whole_layers_) {
      if (static_cast<int64_t>(l) >= *whole_layers_) return processor_layer_ms(machine_, model_, of.loads, tokens);
      return before_experts_ms(machine_, model_, tokens) + costs_.gpu_offset +
             static_cast<double>(of.active.size()) * costs_.gpu_fixed;
    }
    const ExpertSchedule now = schedule(of, l);
    const double ms = before_experts_ms(machine_, model_, tokens) + now.makespan();
    const std::vector<int32_t> moved = now.on(ExpertLane::link);
    if (tokens == 1) update_cache(l, of, moved);
    if (behaviour_.prefetches) prefetch(l, ms - static_cast<double>(moved.size()) * costs_.transfer);
    return ms;
  }

  // Fetched experts enter first, then the token's scores count, and moved experts (or all misses) enter last.
  void update_cache(size_t l, const LayerLoads& of, const std::vector<int32_t>& moved) {
    for (const int32_t expert : fetched_[l]) caches_[l].insert(expert, of.active);
    caches_[l].see(softmax_of(layers_[l].scores()), kept_scores(size_.experts, size_.used), layers_[l].chosen());
    if (behaviour_.inserts_misses) {
      for (const int32_t expert : of.active) caches_[l].insert(expert, of.active);
    } else {
      for (const int32_t at : moved) caches_[l].insert(of.active[static_cast<size_t>(at)], of.active);
    }
  }

  // Y3: in idle time of the link, what helps the next layers most. A fetched expert has a place of its own until its
  // layer has run; caches that change take it in.
  void prefetch(size_t l, double idle_ms) {
    idle_ms_ = std::max(0.0, idle_ms) + std::min(idle_ms_, costs_.transfer);
    for (int64_t count = 0; count < prefetch_.most && idle_ms_ >= costs_.transfer; ++count) {
      const auto [ahead, expert] = best_to_fetch(l);
      if (expert < 0) return;
      idle_ms_ -= costs_.transfer;
      fetched_[ahead].push_back(expert);
    }
  }

  // The expert of the next layers that shortens its layer's schedule most, by the guessed loads.
  std::pair<size_t, int32_t> best_to_fetch(size_t l) {
    std::pair<size_t, int32_t> best{0, -1};
    double most_gain = 1e-9;
    for (size_t ahead = l + 1; ahead < layers_.size() && ahead <= l + static_cast<size_t>(prefetch_.layers); ++ahead) {
      const LayerLoads guess = guessed(ahead, ahead - l);
      const double without = schedule(guess, ahead).makespan();
      for (const int32_t expert : guess.active) {
        if (holds(ahead, expert)) continue;
        const double gain = without - schedule(guess, ahead, expert).makespan();
        if (gain <= most_gain) continue;
        most_gain = gain;
        best = {ahead, expert};
      }
    }
    return best;
  }

  // A wrong guess is another expert of the layer. A prompt's counts are guessed right: they are sums over tokens.
  LayerLoads guessed(size_t ahead, size_t distance) {
    LayerLoads guess = loads_[ahead];
    if (std::ranges::max(guess.loads) > 1 || std::ssize(guess.active) != size_.used) return guess;
    for (int32_t& expert : guess.active) {
      double right = 1;
      for (size_t d = 0; d < distance; ++d) right *= kGuessed;
      const uint64_t drawn = hash_of(ahead, expert);
      if (static_cast<double>(drawn % 1000) >= 1000 * right)
        expert = static_cast<int32_t>(drawn / 1000 % static_cast<uint64_t>(size_.experts));
    }
    std::ranges::sort(guess.active);
    const auto equal = std::ranges::unique(guess.active);
    guess.active.erase(equal.begin(), equal.end());
    guess.loads.assign(guess.active.size(), 1);
    return guess;
  }

  // Equal for equal questions of one pass, so that a guess does not change while it is used (splitmix64).
  uint64_t hash_of(size_t layer, int32_t expert) const {
    uint64_t x = static_cast<uint64_t>(loads_[layer].active.front()) * 7919 + layer * 131 +
                 static_cast<uint64_t>(expert) + 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
  }

  const Machine& machine_;
  Mixture model_;
  const MixtureSize& size_;
  ExpertCosts costs_;
  Behaviour behaviour_;
  const ScheduleRule& rule_;
  Prefetch prefetch_;
  std::optional<int64_t> whole_layers_;
  std::vector<DrawnLayer> layers_;
  std::vector<ExpertCache> caches_;
  std::vector<LayerLoads> loads_;              // of the pass
  std::vector<std::vector<int32_t>> fetched_;  // of each layer, in this pass
  double idle_ms_ = 0;
};

}  // namespace

// Milliseconds of a token (a mean behind the warm-up) or of a prompt (a mean over drawn prompts).
double Lab::simulate(Mixture model, int percent, int64_t tokens, EngineKind engine, Prefetch prefetch) {
  Passes passes(machine_, model, percent, engine, tokens == 1, prefetch);
  double ms = 0;
  if (tokens == 1) {
    for (int64_t token = 0; token < kWarmTokens; ++token) passes.token_ms();
    for (int64_t token = 0; token < kTimedTokens; ++token) ms += passes.token_ms();
    return ms / kTimedTokens;
  }
  for (const PassLoads& loads : prompts(model, tokens)) ms += passes.prompt_ms(loads, tokens);
  return ms / kPromptsDrawn;
}

// Prompts are drawn once for each length, so all engines run the same ones.
const std::vector<PassLoads>& Lab::prompts(Mixture model, int64_t tokens) {
  std::vector<PassLoads>& drawn = prompts_[{model, tokens}];
  if (!drawn.empty()) return drawn;
  std::vector<DrawnLayer> layers = drawn_layers(model);
  for (int64_t prompt = 0; prompt < kPromptsDrawn; ++prompt) {
    PassLoads& loads = drawn.emplace_back();
    for (DrawnLayer& layer : layers) {
      layer.restart();
      loads.push_back(drawn_loads(layer, size_of(model).experts, tokens));
    }
  }
  return drawn;
}

// Other constants make all known times wrong.
void Lab::use(const Machine& machine) {
  machine_ = machine;
  known_.clear();
}

double Lab::token_ms(Mixture model, int percent, EngineKind engine, Prefetch prefetch) {
  return prompt_ms(model, percent, 1, engine, prefetch);
}

double Lab::prompt_ms(Mixture model, int percent, int64_t tokens, EngineKind engine, Prefetch prefetch) {
  const Key key{model, percent, tokens, engine, prefetch.layers, prefetch.most};
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  return known_[key] = simulate(model, percent, tokens, engine, prefetch);
}

double Lab::table3_prompt_ms(EngineKind engine) {
  double sum = 0;
  for (const int64_t tokens : kPrompts) sum += prompt_ms(Mixture::qwen2, 25, tokens, engine);
  return sum / static_cast<double>(kPrompts.size());
}

double Lab::hits(Mixture model, int percent, CacheRule rule, bool together) {
  return drawn_hits(routing_of(model), size_of(model).experts, size_of(model).used, cached_experts(model, percent),
                    rule, together);
}

// Fitted so that LRU hits as often as printed at 25 %. sigma is that of a real trace (docs/hybrimoe.md).
RoutingConstants routing_of(Mixture model) {
  constexpr std::array kRho{0.299768, 0.495017, 0.538764};
  return {0.05777, kRho[static_cast<size_t>(model)]};
}

// The share of hits in drawn routing, over a few layers with caches of their own.
double drawn_hits(const RoutingConstants& routing, int64_t experts, int64_t used, int64_t slots, CacheRule rule,
                  bool together) {
  constexpr int64_t kLayers = 8, kTokens = 512;
  HitCount count;
  for (int64_t l = 0; l < kLayers; ++l) {
    DrawnLayer layer(routing, experts, used, 77 + static_cast<uint64_t>(l));
    std::vector<int32_t> held = layer.by_popularity();
    held.resize(static_cast<size_t>(slots));
    ExpertCache cache(rule, experts, slots, held);
    for (int64_t token = 0; token < kTokens; ++token) {
      layer.next();
      look_up(cache, {softmax_of(layer.scores()), kept_scores(experts, used), layer.chosen()}, together, count);
    }
  }
  return count.rate();
}

// The same caches on recorded routing, by the code that `tandem replay-moe` runs.
double trace_hits(const RoutingTrace& trace, int64_t percent, std::string_view policy, ExpertLookup lookup) {
  std::vector<LayerRequests> layers;
  for (size_t l = 0; l < trace.layers.size(); ++l) layers.push_back(requests_of(trace, l));
  const PolicyKind* kind = expert_policy(policy);
  TANDEM_CHECK(kind != nullptr, "a policy of expert caches");
  return replay_cache(layers, *kind, static_cast<double>(percent), {.policy = {.lookup = lookup}}).hit_rate();
}

}  // namespace tandem::paper_hybrimoe
