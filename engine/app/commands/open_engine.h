// Opens the engine a command asks for with its flags: load progress, notes, trace.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "engine/app/common_flags.h"
#include "engine/run/engine.h"
#include "engine/tensor/activation.h"

namespace tandem::app {

struct EngineNeeds {
  int64_t context = 0;  // 0: the flags' or the model's
  int64_t chunk = 0;    // 0: the flags' or the engine's
  int64_t outputs = 1;
  int64_t sequences = 0;        // texts that share passes
  bool may_join_later = false;  // a GPU whose kernels are not compiled yet (--compile background)
  TextAsked first_text = {};    // then: what will be asked for
  std::string program = {};     // `tandem`, which compiles them; empty: this process runs it
};

KvType kv_type_of(const CommonFlags& flags);              // --cache-type
std::optional<ActType> act_of(const CommonFlags& flags);  // --act or --fast; nothing: the engine's choice
std::unique_ptr<Engine> open_engine(const CommonFlags& flags, const EngineNeeds& needs);

// Says on stderr what is not as a user might expect: fallbacks, stand-ins, more tokens than the model was trained for.
// Nothing with -q. tokens: of the longest text; 0: as many as the context holds.
void print_notes(const CommonFlags& flags, const Engine& engine, int64_t tokens = 0);
// "" where the model was trained for so many tokens, or does not say.
std::string note_on_length(const ModelConfig& config, int64_t tokens);

// Records a command's spans for --trace, and writes the file in finish(); nothing without the flag.
class TraceFile {
 public:
  TraceFile(const CommonFlags& flags, Engine& engine);
  ~TraceFile() { stop(); }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  void finish();

 private:
  void stop();
  std::string path_;
  Engine& engine_;
  Timeline timeline_;
};

// N10: what became of the experts' rows on the NPU since the engine was opened; null: no expert was there.
nlohmann::json experts_json(const Engine& engine);
void print_experts(const CommonFlags& flags, const Engine& engine);  // likewise, a line on stderr or none

// {"same_on_every_plan": bool, "reasons": [...]}: whether the run's bits are those of every other plan, or why not.
nlohmann::json bits_json(const Engine& engine);

// The file that this process runs: absolute; "" where the system does not say.
std::string own_program();

}  // namespace tandem::app
