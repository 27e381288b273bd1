// The HybriMoE paper's settings: a model, a cache, an engine, and the time of a prompt or of a token (Y2 to Y7).
//
// Contract: everything is modelled, by the engine's own schedules (engine/moe/schedules/). Milliseconds. Not
//   thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/paper_hybrimoe/expert_cache.h"
#include "bench/paper_hybrimoe/machine.h"
#include "bench/paper_hybrimoe/routing.h"
#include "engine/moe/expert_policy.h"
#include "engine/moe/routing_trace.h"

namespace tandem::paper_hybrimoe {

// Y7. kt: kTransformers. In text it computes a miss on the processor, in a prompt it moves it. kt_on_cpu computes
// misses of a prompt on the processor too, which the prose says. The next three are Table III's parts.
enum class EngineKind : uint8_t {
  llama_cpp,
  adapmoe,
  kt,
  kt_on_cpu,
  scheduling,
  prefetching,
  caching,
  hybrimoe,
  greedy  // hybrimoe by the paper's greedy schedule alone
};
inline constexpr std::array kEngines{EngineKind::llama_cpp, EngineKind::adapmoe, EngineKind::kt, EngineKind::hybrimoe};

// Y3. In idle time of the link, the guessed experts of the next layers with the largest gain.
struct Prefetch {
  int64_t layers = 0;  // ahead
  int64_t most = 0;    // experts for each layer that is computed
};
inline constexpr int64_t kPrefetchLayers = 3;  // YF27
inline constexpr double kGuessed = 0.9;        // of the right experts, one layer ahead; its powers farther ahead
inline constexpr Prefetch kAuthorsPrefetch{1, 1}, kWholeLink{kPrefetchLayers, 1 << 20};

// The tokens at each expert of a layer in one pass.
struct LayerLoads {
  std::vector<int32_t> active;  // ids, rising
  std::vector<int64_t> loads;   // of the active ones
};
using PassLoads = std::vector<LayerLoads>;  // [layers]

class Lab {
 public:
  // trace: recorded routing for YF12 to YF17, or none.
  explicit Lab(Machine machine = {}, std::optional<RoutingTrace> trace = {})
      : machine_(machine), trace_(std::move(trace)) {}

  const Machine& machine() const { return machine_; }
  const std::optional<RoutingTrace>& trace() const { return trace_; }
  void use(const Machine& machine);  // in place of the one so far; drawn prompts stay
  double token_ms(Mixture model, int percent, EngineKind engine, Prefetch prefetch = kAuthorsPrefetch);
  double prompt_ms(Mixture model, int percent, int64_t tokens, EngineKind engine, Prefetch prefetch = kAuthorsPrefetch);
  double table3_prompt_ms(EngineKind engine);  // Qwen2 at 25 %, the mean of all lengths
  // Hits of drawn routing with a cold cache, one lookup at a time.
  double hits(Mixture model, int percent, CacheRule rule, bool together = false);

 private:
  using Key = std::tuple<Mixture, int, int64_t, EngineKind, int64_t, int64_t>;
  double simulate(Mixture model, int percent, int64_t tokens, EngineKind engine, Prefetch prefetch);
  const std::vector<PassLoads>& prompts(Mixture model, int64_t tokens);

  Machine machine_;
  std::optional<RoutingTrace> trace_;
  std::map<std::pair<Mixture, int64_t>, std::vector<PassLoads>> prompts_;  // drawn once for all engines
  std::map<Key, double> known_;
};

// Fitted to YF12 to YF14's LRU (calibrate.h).
RoutingConstants routing_of(Mixture model);
double drawn_hits(const RoutingConstants& routing, int64_t experts, int64_t used, int64_t slots, CacheRule rule,
                  bool together);
// The share of hits on recorded routing, cold at first: the replay of `tandem replay-moe`, by a policy's name.
double trace_hits(const RoutingTrace& trace, int64_t percent, std::string_view policy, ExpertLookup lookup);

}  // namespace tandem::paper_hybrimoe
