// G3 to G5: which experts of a layer a GPU computes, and which the near-memory units, for every pass anew.
//
// The rules see how many tokens chose each expert. A pass of kFewestPromptTokens or more belongs to a prompt, and a
// shorter one to a text. All times come from the numbers of a described machine, so decisions are the same everywhere.
// An engine moves whole experts: of Eq. 1's two whole neighbours the one that ends sooner (of equals the lower).
//
// Contract: NearMemorySides is one thread's. Source: GPU-NDP, sections III.C, III.D and IV.A; docs/gpu-ndp.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/moe/near_memory.h"
#include "engine/tensor/expert_divider.h"
#include "tandem/types.h"

namespace tandem {

inline constexpr int64_t kFewestPromptTokens = 16;

// The sides behind the GPU.
enum class UnitShape : uint8_t {
  together,   // G2: side 1 is all units, and each computes a part of every expert
  whole,      // G5, MoNDE: side 1 + u is unit u, and expert e lies in unit e % N
  processor,  // G5, Fiddler: side 1 is the host
  none,       // G5, on demand: the GPU computes everything
};

// The rules of a plan. `prefetches` and `balances` count in texts; in prompts `balances` gives the GPU a share.
struct NearMemoryRules {
  UnitShape shape = UnitShape::together;
  bool balances = true;    // G3
  bool prefetches = true;  // G4
};

struct NearMemoryMachine {
  NearMemoryTimes times;
  NearMemoryRates rates;
  double host_expert = 0;  // seconds of an expert on the host: its bytes at the rate of the host's memory
  int64_t experts = 0, top_k = 0;
  int64_t most_resident = 0;  // experts of each layer that fit the GPU's memory
};

// The machine of a model with that many bytes: expert_bytes of each of `experts` experts in `layers` layers, and
// other_bytes, which are on the GPU. units: N.
struct NearMemoryModel {
  int64_t experts = 0, top_k = 0, layers = 0;
  double expert_bytes = 0, expert_macs = 0, other_bytes = 0, activation_bytes = 0;
};
struct NearMemoryCard {
  double link_bytes_per_second = 0, bytes_per_second = 0, macs_per_second = 0, memory_bytes = 0;
  double unit_bytes_per_second = 0, unit_macs_per_second = 0;
  double host_bytes_per_second = 0;
};
NearMemoryMachine near_memory_machine(const NearMemoryModel& model, const NearMemoryCard& card, int64_t units);

// The experts of one layer in one pass.
struct SideChoice {
  std::vector<int32_t> sides;  // [E]; what nobody chose has side 0
  std::vector<int32_t> moved;  // experts on the GPU that were not there before, by falling load
  double seconds = 0;          // modelled: until both sides have ended
};
// A text's pass. resident: [E], whether the GPU holds the expert; empty: it holds none.
SideChoice sides_of_text(std::span<const int64_t> loads, const NearMemoryMachine& machine, const NearMemoryRules& rules,
                         const std::vector<bool>& resident);
// A prompt's pass of so many tokens.
SideChoice sides_of_prompt(std::span<const int64_t> loads, int64_t tokens, const NearMemoryMachine& machine,
                           const NearMemoryRules& rules, UnitPrompts reading);
// G4, step 2: the `count` experts that a prompt chose most often (of equals the lower id; none that nobody chose).
std::vector<bool> most_used(std::span<const int64_t> counts, int64_t count);

// What the rules did so far. Everything is modelled.
struct SideTotals {
  int64_t on_gpu = 0, on_units = 0;      // choices
  int64_t hits = 0;                      // of them on the GPU: choices of experts that it held
  int64_t moved = 0, prefetched = 0;     // experts that were copied to the GPU
  double seconds = 0, copy_seconds = 0;  // of the experts of all layers; of step 2 of G4
};

// Remembers what prompts chose and what the GPU holds. A prompt behind a text counts anew.
class NearMemorySides final : public ExpertDivider {
 public:
  NearMemorySides(const NearMemoryMachine& machine, const NearMemoryRules& rules, const UnitOptions& options)
      : machine_(machine), rules_(rules), options_(options) {}
  void divide(const DivideRequest& request, std::span<int32_t> sides) override;

  const SideTotals& of_prompts() const { return of_prompts_; }
  const SideTotals& of_text() const { return of_text_; }

 private:
  struct Layer {
    std::vector<int64_t> counts;  // [E], of the last prompt
    std::vector<bool> resident;   // [E]; empty: nothing was prefetched since
    bool in_text = false;
  };
  Layer& layer_of(int64_t layer);
  void prefetch(Layer& layer);

  const NearMemoryMachine machine_;
  const NearMemoryRules rules_;
  const UnitOptions options_;
  std::vector<Layer> layers_;
  SideTotals of_prompts_, of_text_;
};

}  // namespace tandem
