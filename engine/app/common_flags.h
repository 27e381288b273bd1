// The flags that commands share, as plain values with their defaults. Functions declare them in groups.
//
// Contract: a command never sees values out of range; the command line is refused with exit status 2. An unset flag (""
// or 0 or -1, see its comment) leaves the choice to the engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/app/parameters.h"
#include "engine/app/text_input.h"
#include "tandem/generate.h"

namespace CLI {
class App;
}

namespace tandem::app {

// The form that a text must keep (docs/constrained.md): at most one of these.
struct FormFlags {
  std::string json_schema, grammar;  // files; "": none
  bool json_object = false;          // any JSON object
};

struct CommonFlags {
  std::string model;  // path
  TextFlags text;     // -p or -f
  // Flags whose values are those of an option write into it: -t --device --strict-device --plan --split --chunk, the
  // rules for experts and --calibration; -n, sampling, --stop and --ignore-eos. Other flags have members of their own.
  EngineOptions engine;
  GenerateOptions generate;
  int64_t ctx_size = 0;  // 0: what the model was trained with, at most 4096
  Seed seed;
  bool no_special = false;                        // special tokens in the text are plain text
  bool chat = false;                              // the text is a user's turn (only `run`)
  std::string chat_template, chat_template_file;  // a form by name, a file; "": the model's own
  std::string act;                                // "", "auto", "exact", "f32", "f16", "i8"
  std::string cache_type = "f16";
  std::string sync = "predict";
  double deadline_seconds = 120;  // limit of every wait
  std::string submit = "ahead";
  std::string compile = "background";    // or "now"
  bool pack_cache = false;               // keeps packed weights on disk
  std::vector<std::string> predictions;  // files; `generate.spec` has the other options of drafts
  std::string draft_model;               // a file; "": none
  std::string history;                   // a file; "": none
  int64_t history_mebibytes = 64;
  FormFlags form;                      // only for `run`
  std::string soc;                     // also report the model clock of this chip; "": none
  std::string trace;                   // Perfetto file; "": none
  std::string routing_out;             // file of the experts of every token; "": none (`run`, `eval`)
  std::string save_state, load_state;  // only for `run`
  bool json = false;
  int verbosity = 0;  // -q: -1, -v: 1, -vv: 2

  bool quiet() const { return verbosity < 0; }
};

// The common flags and those of one command.
template <typename Own>
struct FlagsWith {
  CommonFlags common;
  Own own;
};

// Flags that are added while it lives are listed under this title by --help. Other flags are listed under "Options".
class FlagGroup {
 public:
  FlagGroup(CLI::App& app, const char* title);
  ~FlagGroup();
  FlagGroup(const FlagGroup&) = delete;
  FlagGroup& operator=(const FlagGroup&) = delete;

 private:
  CLI::App& app_;
};

void add_model_flag(CLI::App& app, CommonFlags& flags);  // -m, required
// -p or -f (several files if the command allows it); --no-special
void add_text_flags(CLI::App& app, CommonFlags& flags, bool several = false);
void require_one_text(const CLI::App& app);                    // exactly one of -p, -f (and --ids), else wrong usage
void add_template_flags(CLI::App& app, CommonFlags& flags);    // --chat-template, --chat-template-file
void add_sampling_flags(CLI::App& app, CommonFlags& flags);    // -n -s --temp ... --stop
void add_form_flags(CLI::App& app, CommonFlags& flags);        // --json-schema --grammar --json-object
void require_one_form(const FormFlags& form);                  // CLI::ExcludesError: several are given
void add_spec_flags(CLI::App& app, CommonFlags& flags);        // --spec --draft-max --prediction --history ...
void remove_text_spec_flags(CLI::App& app);                    // all of them but --spec and --draft-max
void add_history_max_flag(CLI::App& app, CommonFlags& flags);  // --history-max, also a part of the spec flags
void add_device_flag(CLI::App& app, CommonFlags& flags);       // --device
void add_plan_flag(CLI::App& app, CommonFlags& flags, const std::string& explains);  // --plan, --all
// -c -t --device --plan --act ... --trace, and last the flags of research systems
void add_engine_flags(CLI::App& app, CommonFlags& flags);
void add_ctx_size_flag(CLI::App& app, CommonFlags& flags);        // -c, also a part of the engine flags
void add_expert_budget_flags(CLI::App& app, CommonFlags& flags);  // --expert-budget --host-budget, likewise
void add_expert_copies_flag(CLI::App& app, CommonFlags& flags);   // --expert-copies, likewise
void add_cache_type_flag(CLI::App& app, CommonFlags& flags);      // --cache-type, also a part of the engine flags
void add_act_flags(CLI::App& app, CommonFlags& flags);            // --act, --fast, --exact; engine flags too
void add_compile_flag(CLI::App& app, CommonFlags& flags);         // --compile
void add_output_flags(CLI::App& app, CommonFlags& flags);         // --json -v -q

// Runs after the parser. WrongUsage if the values of a list contradict each other: shares that do not add up to 1,
// capacities that do not fall.
void require_lists_fit(const CLI::App& command);

// Sets the log level by -v and -q. TANDEM_LOG takes precedence.
void apply_verbosity(const CommonFlags& flags);

}  // namespace tandem::app
