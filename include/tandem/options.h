// How a machine's devices are opened, how a model is loaded, and how an engine runs its texts.
//
// Contract: plain values. Engine's constructor checks them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tandem/types.h"

namespace tandem {

inline constexpr int64_t kDefaultChunk = 256;   // most tokens of a prompt in one pass
inline constexpr int64_t kMostSequences = 128;  // most sequences with tokens in one pass
// Passes of up to this many tokens run as lists if there may be several sequences. In longer passes, launching is a
// small part of the time.
inline constexpr int64_t kListedTokens = 16;

struct MachineOptions {
  std::vector<std::string> devices;  // ids; empty: the devices that the plan needs, the best GPU first
  int threads = 0;                   // cores to use; 0: all
  sync::Policy sync_policy = sync::Policy::predict;
  std::chrono::milliseconds wait_deadline = sync::kWaitDeadline;  // of a pass, and of each wait in it
  std::string program_folder;               // for compiled OpenCL programs; empty: they are not kept
  std::optional<std::string> measurements;  // file of measurements; absent: the one in the user's cache folder
  OnLongWork on_long_work;                  // destructors that keep files call it too
  // Passes of up to this many tokens are one launch each, on a GPU that takes lists. Numbers above 1 take longer to
  // compile. They are for many texts at once and for drafts.
  int64_t listed_tokens = 1;
  // Y6: experts are copied into slots of the GPU although it shares the host's memory, as on a card of its own. The
  // link is then a device too, which copies beside everything else.
  bool expert_copies = false;
  // Waits in real time that make this machine's ratios those of another one. link_gbps: 1e9 bytes a second; 0: none.
  // host_slower: products on the host take so many times as long.
  // disk_gbps: reads of experts that move take so long; 0: none.
  double link_gbps = 0, host_slower = 1, disk_gbps = 0;
  DeviceHooks device_hooks;
};

// Bytes that this process may still take. It replaces the system's answer in programs that share out the memory of
// their machine.
using FreeMemory = std::function<uint64_t()>;

struct ModelOptions {
  std::string model_path;
  std::string pack_cache_folder;                   // for packed weights, for the next start; empty: they are not kept
  uint64_t pack_cache_bytes = uint64_t{32} << 30;  // most bytes in the folder; the oldest files are removed
  // Most bytes of packed weights in the NPU's graphs. Graphs of prompts and of single tokens then have weights of their
  // own, and a thread loads them from the folder above, which is needed (docs/sdnpu.md). 0: the model's weights serve
  // all graphs.
  uint64_t npu_memory_bytes = 0;
  // Y6: memory for experts. Experts that do not fit lie in the packed file and are read while passes run. On devices
  // that share the host's memory both budgets name that memory, and the smaller one counts. With copies (expert_copies)
  // the first one is for slots, and the second for the host's memory beside them.
  ExpertBudget expert_budget, host_budget;
  FreeMemory free_memory;  // for automatic budgets; empty: the system says what is free
  // Y4, with MachineOptions::expert_copies: the policy that says which expert leaves a slot, a name of
  // engine/moe/expert_policies.cpp that knows no future.
  std::string expert_policy = "auto";
  bool insert_misses = false;  // Y4: a text's experts that the host computed get slots too, not only copied ones
  // Y6: experts that earlier runs used most begin in memory. Their counts lie beside the packed file.
  bool hot_experts = true;
  std::string packed_file;  // a file of `tandem pack`, which is used instead of those in the folders; empty: none
  // For the packed file of experts that move, if pack_cache_folder is empty.
  std::string expert_folder;
  bool only_layers_of_every_kind = false;  // only the layers that need all of the model's kernels, to compile them
  LoadProgress load_progress;
};

enum class ExpertPrefetching : uint8_t { automatic, on, off };

struct TextOptions {
  bool strict_device = false;  // true: an operator that has to fall back is an Error
  std::string plan = "auto";   // a name of `tandem run --plan list`, or "auto"
  // Shares of a matmul's rows: one for each device that cuts rows, in their order, or the NPU's share alone. Empty: the
  // solver computes them from measured times (H9).
  std::vector<double> split;
  std::optional<ActType> act;  // activations at matmul inputs; absent: f16 if the plan may use the NPU, else f32
  // With `act` absent: i8 if every matrix of the model has integer codes (`--act auto`).
  bool i8_for_integers = false;
  KvType kv_type = KvType::f16;
  int64_t context = 0;     // most tokens of a text; 0: as many as in training, but not above 4096
  int64_t chunk = 0;       // most tokens of a pass; 0: kDefaultChunk
  int64_t logit_rows = 1;  // most tokens of a pass that get logits
  // Sequences that may have tokens in one pass, 1 to kMostSequences. The cache has room for so many full contexts. With
  // more than one, a pass may also have trees of drafts (Extension::parents), if all devices share the host's memory.
  int64_t sequences = 1;
  // More full contexts that the cache has room for: of texts that have no tokens in the pass of another one.
  int64_t spare_texts = 0;
  // Passes may have drafts: chains of them with logits for each token, and trees where several sequences may have them.
  // Passes of a few tokens are lists if the kernels for that are compiled already (MachineOptions::listed_tokens).
  bool drafts = false;
  // Numbers of tokens for which the NPU has graphs, rising (H3). A batch of another length is cut or padded. Only the
  // plan `online` compiles a graph for it.
  std::vector<int64_t> graph_tokens = {1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512, 1024};
  // H7, how steps reach the GPU. ahead: all of them are queued at once. follow: each is queued when the steps that it
  // waits for have ended. dominant: follow in passes of more than four tokens, ahead in shorter ones.
  Submit submit = Submit::ahead;
  // The last layer chooses experts for every token, so that the routing of tokens without logits is known too. Only
  // tokens with logits use them.
  bool route_every_token = false;
  // Passes return the rows of the last norm, [rows, hidden], in the place of logits (tandem/embed.h). Every token of a
  // pass may have a row. An encoder needs it, because it has no logits.
  bool hidden_states = false;
  // Y3: in each layer, passes also guess the experts of so many later layers: their norms and routers read the present
  // residual stream.
  int64_t guess_layers = 0;
  // Y3, in plans with lanes of experts: guessed experts are copied ahead. automatic: where it pays by measured passes.
  ExpertPrefetching expert_prefetch = ExpertPrefetching::automatic;
  int64_t prefetch_layers = 3;  // Y3: most layers ahead whose experts a text guesses for copies
  ExpertRules experts;          // for plans that put experts on the NPU (NPUMoE)
  UnitOptions units;            // for plans with near-memory units (GPU-NDP)
  std::string calibration;      // a file of `calibrate-moe`; empty: the engine counts choices of experts as it runs
  // The program that compiles a GPU's kernels in the background if they are missing. Meanwhile texts run without the
  // GPU, which joins between two passes. This needs the plan `auto`, without named devices or a split. Empty: this
  // process compiles each kernel when it first needs it.
  std::string warming_program;
  TextAsked first_text;  // what the user will ask for; it decides whether the first text waits for a card
  PlanHooks plan_hooks;
};

struct EngineOptions : MachineOptions, ModelOptions, TextOptions {};

}  // namespace tandem
