// How an engine runs the texts of its model.
//
// Contract: plain values. Engine's constructor checks them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/strategy.h"
#include "engine/run/machine/first_text.h"
#include "engine/run/machine/loaded_model.h"
#include "engine/run/machine/machine.h"
#include "engine/run/machine/test_hooks.h"

namespace tandem {

inline constexpr int64_t kDefaultChunk = 256;   // most tokens of a prompt in one pass
inline constexpr int64_t kMostSequences = 128;  // most sequences with tokens in one pass
// Passes of up to this many tokens run as lists (engine/device/opencl/list_launcher.h) if there may be several
// sequences. In longer passes, launching is a small part of the time.
inline constexpr int64_t kListedTokens = 16;

struct TextOptions {
  bool strict_device = false;  // true: an operator that has to fall back is an Error
  std::string plan = "auto";   // a name in strategies() (engine/plan/strategy.h), or "auto"
  // Shares of a matmul's rows: one for each device of row_cutters() (engine/plan/plan_request.h), or the NPU's share
  // alone. Empty: the solver computes them from measured times (H9).
  std::vector<double> split;
  std::optional<ActType> act;  // activations at matmul inputs; absent: f16 if the plan may use the NPU, else f32
  KvType kv_type = KvType::f16;
  int64_t context = 0;     // most tokens of a text; 0: as many as in training, but not above 4096
  int64_t chunk = 0;       // most tokens of a pass; 0: kDefaultChunk
  int64_t logit_rows = 1;  // most tokens of a pass that get logits
  // Sequences that may have tokens in one pass, 1 to kMostSequences. The cache has room for so many full contexts. With
  // more than one, a pass may also have trees of drafts (Extension::parents), if all devices share the host's memory.
  int64_t sequences = 1;
  // Numbers of tokens for which the NPU has graphs, rising (H3). A batch of another length is cut or padded. Only the
  // plan `online` compiles a graph for it.
  std::vector<int64_t> graph_tokens = {1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512, 1024};
  // H7, how steps reach the GPU. ahead: all of them are queued at once. follow: each is queued when the steps that it
  // waits for have ended. dominant: follow in passes of more than kDecodeTokens tokens, ahead in shorter ones.
  Submit submit = Submit::ahead;
  ExpertRules experts;      // for plans that put experts on the NPU (NPUMoE)
  std::string calibration;  // a file of `calibrate-moe`; empty: the engine counts choices of experts as it runs
  // The program that compiles a GPU's kernels in the background if they are missing (engine/run/machine/warming.h).
  // Meanwhile texts run without the GPU, which joins between two passes. This needs the plan `auto`, without named
  // devices or a split. Empty: this process compiles each kernel when it first needs it.
  std::string warming_program;
  // What the user will ask for. It decides whether the first text waits for a card (engine/run/machine/first_text.h).
  TextAsked first_text;
  PlanHooks plan_hooks;
};

struct EngineOptions : MachineOptions, ModelOptions, TextOptions {};

}  // namespace tandem
