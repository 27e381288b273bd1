// The flags that commands share, as plain values with their defaults, and the functions that declare them in groups.
//
// Contract: what is out of range never reaches a command: the command line is refused with exit status 2. A flag
// without a value here ("" or 0 or -1, as said beside it) leaves the choice to the engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/app/parameters.h"
#include "engine/app/text_input.h"
#include "engine/moe/expert_placement.h"

namespace CLI {
class App;
}

namespace tandem::app {

struct CommonFlags {
  std::string model;      // path
  TextFlags text;         // -p or -f
  int64_t predict = 128;  // < 0: until the model ends or the context is full
  int64_t ctx_size = 0;   // 0: what the model was trained with, at most 4096
  int threads = 0;        // 0: all cores
  Seed seed;
  float temp = 0;            // 0: greedy
  int top_k = 40;            // 0: off
  float top_p = 0.95f;       // 1: off
  float min_p = 0.05f;       // 0: off
  float repeat_penalty = 1;  // 1: off
  std::vector<std::string> stop;
  bool ignore_eos = false;
  bool no_special = false;           // special tokens in the text are plain text
  bool chat = false;                 // the text is a user's turn (`run`)
  std::vector<std::string> devices;  // ids; empty: the best GPU and the NPU
  bool strict_device = false;
  std::string plan = "auto";
  std::vector<double> split;  // shares of rows, one a device, or the NPU's alone; empty: measured
  std::string act;            // "", "f32", "f16", "i8"
  std::string cache_type = "f16";
  int64_t chunk = 0;        // prefill piece; 0: the engine's choice
  ExpertRules experts;      // of plans that put experts on the NPU
  std::string calibration;  // file of calibrate-moe; "": experts are counted while the model runs
  std::string sync = "predict";
  double deadline_seconds = 120;  // of every wait
  std::string submit = "ahead";
  std::string compile = "background";  // or "now"
  bool pack_cache = false;             // keeps packed weights on disk
  std::string soc;                     // chip whose model clock is reported too; "": none
  std::string trace;                   // Perfetto file; "": none
  std::string save_state, load_state;  // of `run`
  bool json = false;
  int verbosity = 0;  // -q: -1, -v: 1, -vv: 2

  bool quiet() const { return verbosity < 0; }
};

// Those of a command, and its own.
template <typename Own>
struct FlagsWith {
  CommonFlags common;
  Own own;
};

void add_model_flag(CLI::App& app, CommonFlags& flags);  // -m, required
// -p or -f, several of them where a command can do with that; --no-special
void add_text_flags(CLI::App& app, CommonFlags& flags, bool several = false);
void require_one_text(const CLI::App& app);                  // of -p, -f (and --ids): wrong usage otherwise
void add_sampling_flags(CLI::App& app, CommonFlags& flags);  // -n -s --temp ... --stop
void add_device_flag(CLI::App& app, CommonFlags& flags);     // --device
void add_plan_flag(CLI::App& app, CommonFlags& flags, const std::string& explains);  // --plan
void add_engine_flags(CLI::App& app, CommonFlags& flags);     // -c -t --device --plan --act ... --trace
void add_cache_type_flag(CLI::App& app, CommonFlags& flags);  // --cache-type; one of the engine's
void add_act_flags(CLI::App& app, CommonFlags& flags);        // --act, --fast; of the engine's
void add_compile_flag(CLI::App& app, CommonFlags& flags);     // --compile
void add_output_flags(CLI::App& app, CommonFlags& flags);     // --json -v -q

// WrongUsage if values of a list do not go together: shares that are not all, capacities that do not fall. Runs after
// the parser.
void require_lists_fit(const CLI::App& command);

// The log level that -v and -q ask for; TANDEM_LOG wins.
void apply_verbosity(const CommonFlags& flags);

}  // namespace tandem::app
