// Opens the engine that a command's flags describe: load progress, notes, trace.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "engine/app/common_flags.h"
#include "engine/app/progress.h"
#include "engine/run/engine.h"
#include "engine/run/serve/extend.h"
#include "engine/tensor/activation.h"

namespace tandem::app {

struct EngineNeeds {
  int64_t context = 0;  // 0: from the flags or the model
  int64_t chunk = 0;    // 0: from the flags or the engine
  int64_t logit_rows = 1;
  bool drafts = false;          // passes may have drafts
  bool hidden_states = false;   // as TextOptions has it
  int64_t sequences = 1;        // texts that share passes
  int64_t spare_texts = 0;      // as TextOptions has it
  bool may_join_later = false;  // a GPU may join later if its kernels are not compiled yet (--compile background)
  TextAsked first_text = {};    // for that case: the size of the first text
  std::string program = {};     // the `tandem` program that compiles the kernels; empty: the program of this process
};

KvType kv_type_of(const CommonFlags& flags);                      // --cache-type
std::optional<ActType> act_of(const CommonFlags& flags);          // --act or --fast; absent: auto, exact or none
void choose_act(const CommonFlags& flags, TextOptions& options);  // sets act and i8_for_integers
std::unique_ptr<Engine> open_engine(const CommonFlags& flags, const EngineNeeds& needs);
// --draft-model, on the machine of the model that it drafts for; null: none was asked for. texts: written at a time.
std::shared_ptr<DraftModel> open_draft_model(const CommonFlags& flags, const Engine& target, int64_t texts);

// Ctrl-C ends a long text between two of its chunks. progress: shows how much has run; nullptr: nothing is shown.
ExtendOptions until_interrupted(Progress* progress = nullptr);
std::function<void(int64_t done, int64_t total)> progress_of(Progress& progress);  // borrows it

// Prints notes to stderr about what a user might not expect: fallbacks, substitutes, more tokens than the model was
// trained for. Prints nothing with -q. tokens: length of the longest text; 0: as many as the context holds.
void print_notes(const CommonFlags& flags, const Engine& engine, int64_t tokens = 0);
// "" if the model was trained for so many tokens, or if its file does not say.
std::string note_on_length(const ModelConfig& config, int64_t tokens);

// Records a command's spans for --trace, and writes the file in finish(). It keeps the last spans of a long command,
// and a note on stderr says so. Does nothing without the flag.
class TraceFile {
 public:
  TraceFile(const CommonFlags& flags, Engine& engine);
  ~TraceFile() { stop(); }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  void finish();

 private:
  void stop();
  static constexpr size_t kMostSpans = 1'000'000;  // of 250 to 300 bytes each
  std::string path_;
  Engine& engine_;
  const bool is_quiet_;
  Timeline timeline_{kMostSpans};
};

// N10: how the experts' rows on the NPU were used since the engine was opened. null: no expert ran there.
nlohmann::json experts_json(const Engine& engine);
void print_experts(const CommonFlags& flags, const Engine& engine);  // the same as a line on stderr, or nothing
// G3, G4: who computed the experts. null: no near-memory units. All times in it are modelled.
nlohmann::json near_memory_json(const Engine& engine);
void print_near_memory(const CommonFlags& flags, const Engine& engine);  // the same as lines on stderr, or nothing
// Y6: experts that moved since the model was loaded. null: all experts are in memory.
nlohmann::json expert_store_json(const Engine& engine);
void print_expert_store(const CommonFlags& flags, const Engine& engine);  // the same as lines on stderr, or nothing
// S1: loads of the NPU's graphs since the model was loaded. null: without --npu-memory.
nlohmann::json graph_loads_json(const Engine& engine);
void print_graph_loads(const CommonFlags& flags, const Engine& engine);  // the same as a line on stderr, or nothing

// {"same_on_every_plan": bool, "reasons": [...]}: whether every other plan gives the same bits, or why not.
nlohmann::json bits_json(const Engine& engine);

// Absolute path of the program that this process runs; "" if the system does not tell it.
std::string own_program();

}  // namespace tandem::app
