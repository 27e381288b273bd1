// Types of options. Plain values.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tandem {

namespace sync {

// H7: how a host waits for devices (docs/sync.md). `gate` and `doorbell` hand work over in another way than `spin`, but
// see its end in the same way.
enum class Policy : uint8_t { blocking, event, spin, predict, gate, doorbell };

// The deadline of every wait unless its caller sets another one. It is longer than any step that keeps a slow
// device busy.
inline constexpr std::chrono::milliseconds kWaitDeadline{120000};

}  // namespace sync

// Activations at matmul inputs (--act). f16: their producer rounds them. i8: a matmul with integer weights quantises
// them (docs/numbers.md).
enum class ActType : uint8_t { f32, f16, i8 };
constexpr const char* to_string(ActType type) {
  return type == ActType::i8 ? "i8" : type == ActType::f16 ? "f16" : "f32";
}

enum class KvType : uint8_t { f16, f32 };  // of keys and values in the KV cache

// How the vectors of a text's tokens become the text's vector: their mean, the first one, or the last one. The values
// are those of GGUF's key `pooling_type`. none: the text has no vector. rank: the model compares two texts.
enum class Pooling : uint8_t { none, mean, cls, last, rank };

// How steps reach the GPU (--submit). ahead: as if the GPU dominated every pass. follow: as if the NPU did. dominant:
// like `ahead` for few tokens (up to four) and like `follow` for prompts.
enum class Submit : uint8_t { ahead, follow, dominant };

// The kernels of a GPU: simd for processors with vector registers, simt for cards.
enum class KernelFamily : uint8_t { none, simd, simt };

// Y6: memory for the experts of a mixture. automatic: what the machine has. percent: of the experts of each layer.
struct ExpertBudget {
  enum class Unit : uint8_t { automatic, percent, bytes };
  Unit unit = Unit::automatic;
  double amount = 0;
  bool operator==(const ExpertBudget&) const = default;
};

// N2: which of three capacities an expert on the NPU gets.
enum class TierRule : uint8_t {
  quartile,  // the most popular quarter of the experts has the largest tier; others the smaller of the two that cover
  covering,  // the smallest tier that covers the expected load
};
struct TierOptions {
  // Tiers as multiples of the mean load k * B / E, largest first. At k = 2 these are the paper's 4, 2 and 1
  // times B / E.
  std::array<double, 3> multiples{2, 1, 0.5};
  TierRule rule = TierRule::quartile;
  double popular_share = 0.25;  // only for rule `quartile`
  int64_t step = 16;            // N8: capacities are multiples of it
};
// N3: experts that run together in one graph.
struct GroupOptions {
  int64_t largest_group = 8;                          // G, at most
  int64_t largest_graph_bytes = int64_t{1200} << 20;  // N8: largest weights of a graph; a larger one runs elsewhere
};
enum class ExpertRoom : uint8_t {
  whole_chunk,  // each expert has room for all tokens (N9, naive)
  one_tier,     // the largest tier for every expert (N9, base)
  tiers,        // N2
};
enum class ResidencyRule : uint8_t {
  all,       // every group lives on the NPU, whatever that costs
  faster,    // N4 as in the paper: groups that are faster there
  balanced,  // groups that make the later of NPU and other processor, which work side by side, end sooner
};
// N7: what happens to choices beyond their expert's capacity.
enum class Overflow : uint8_t {
  spill,  // the other processor computes them: the result is exact
  drop,   // they are left out, lowest saliency first
};
// Rules that place a mixture's experts on an NPU (docs/npumoe.md).
struct ExpertRules {
  ExpertRoom room = ExpertRoom::tiers;
  TierOptions tiers;
  GroupOptions groups;
  ResidencyRule residency = ResidencyRule::balanced;
  int64_t most_groups = 16;  // N8: resident at once, for rules that choose
  Overflow overflow = Overflow::spill;
};

// G2: how near-memory units share the down products of experts (docs/gpu-ndp.md).
enum class UnitSplit : uint8_t {
  outer,  // by rows, behind an exchange of activations: the bits of every other plan
  inner,  // the paper: by columns, and partial sums are added in the order of the units: bits of their own
};
// G3: how much of a prompt the GPU takes.
//   counts  as its own choices of experts say
//   share   a share of all work, by Eq. 2
enum class UnitPrompts : uint8_t { counts, share };
// G4: experts that the GPU holds behind a prompt: top_k of each layer, or as many as fit.
enum class UnitPrefetch : uint8_t { top_k, fill };
// For plans with near-memory units.
struct UnitOptions {
  UnitSplit split = UnitSplit::outer;
  UnitPrompts prompts = UnitPrompts::counts;
  UnitPrefetch prefetch = UnitPrefetch::top_k;
};

// The text that a user wants, as far as this is known before the model is loaded.
struct TextAsked {
  int64_t prompt_tokens = 0;
  int64_t tokens = -1;  // most tokens to be written; < 0: unknown
};

// Settings that only tests and benches change.
struct DeviceHooks {
  std::optional<KernelFamily> gpu_family;  // replaces the family that the device reports
  bool force_copies = false;               // true: no zero copy
  int64_t link_fails_after = 0;            // so many copies of the link, the last of which fails; 0: none
};
struct PlanHooks {
  bool tries_plans = true;  // false: the plan `tensor` is what its solver says, and no other plan replaces it
  bool learns = true;       // false: passes are not measured
};

// Called before work that takes seconds (compiling, measuring, keeping files), with a description of it.
using OnLongWork = std::function<void(const std::string& what)>;
// done and total in bytes of the model file; called from the loading thread.
using LoadProgress = std::function<void(uint64_t done, uint64_t total)>;
// Called about ten times a second while no process reads a FIFO or pipe. seconds: since this wait began. It
// may throw.
using WhileUnread = std::function<void(double seconds)>;

}  // namespace tandem
