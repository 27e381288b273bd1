// `tandem plan`: which operator would run where, for how long, and why. It plans for this machine, or for a described
// chip without any model file.
#include "engine/app/commands/planning/plan.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/app/command.h"
#include "engine/app/commands/bench/soc_clock.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/commands/planning/plan_report.h"
#include "engine/app/interrupt.h"
#include "engine/app/progress.h"
#include "engine/app/report.h"
#include "engine/run/engine.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "sync/long_wait.h"

namespace tandem::app {
namespace {

// The phase's plan, with predicted times for its steps.
PhaseReport explain(Engine& engine, const std::string& phase, const Batch& batch, int64_t position) {
  PhaseReport report{phase, batch.S, position, engine.plans().planner().plan_for(batch, position), {}, {}};
  report.predicted = predict(report.plan, engine.plans().planner().costs(position));
  return report;
}

// Reports progress once planning takes longer than a second, and ends it at Ctrl-C. A long prompt has many passes, and
// each needs a plan of its own.
class Planning {
 public:
  Planning(const CommonFlags& flags, int64_t tokens)
      : progress_("planning", ProgressUnit::tokens, !flags.quiet() && Progress::stderr_is_terminal()),
        is_quiet_(flags.quiet()),
        tokens_(tokens) {}
  // A long prompt takes many plans, so after a second it says once what it is doing.
  void at(int64_t token) {
    if (interrupted()) throw Interrupted();
    progress_.update(static_cast<uint64_t>(token), static_cast<uint64_t>(tokens_));
    if (is_quiet_ || now_seconds() - begin_ < 1 || std::exchange(is_said_, true)) return;
    if (!Progress::stderr_is_terminal())
      std::fprintf(stderr, "planning a prompt of %lld tokens, pass by pass\n", static_cast<long long>(tokens_));
  }
  void end() { progress_.clear(); }

 private:
  Progress progress_;
  const bool is_quiet_;
  const int64_t tokens_;
  const double begin_ = now_seconds();
  bool is_said_ = false;
};

// Plans the prompt's pieces as they would run, and one token after them. Each piece is planned behind the pieces in
// front of it, because attention depends on the position. Nothing runs.
PlanReport on_this_machine(const CommonFlags& flags, const PlanFlags& plan) {
  const auto engine = open_engine(flags, {std::max(flags.ctx_size, plan.prompt + 1), 0, 1});
  print_notes(flags, *engine, std::max(flags.ctx_size, plan.prompt));
  PlanReport report{engine->model().config().name.empty() ? flags.model : engine->model().config().name,
                    "predicted from what was measured on this machine",
                    flags.engine.plan,
                    {}};
  Planning planning(flags, plan.prompt);
  int64_t first = 0;
  for (const Batch& piece : engine->plans().chunks_of(0, plan.prompt)) {
    planning.at(first);
    report.phases.push_back(explain(*engine, "prefill", piece, first));
    first += piece.S;
  }
  report.phases.push_back(explain(*engine, "decode", {1, 1}, plan.prompt));
  planning.end();
  report.opened = {engine->machine().device_names(), to_string(*engine->options().act), engine->sizes().context,
                   engine->sizes().tokens, engine->cache().bytes()};
  return report;
}

// A published shape has no file that could tell its type, so Q4_0 stands for it.
StorageType weights_of(const CommonFlags& flags, const PlanFlags& plan) {
  if (!plan.weights.empty()) return storage_type_named(plan.weights);
  return plan.shape.empty() ? usual_type(GgufFile::open(flags.model)) : StorageType::q4_0;
}

// Published figures are for whole prompts. The scratch memory of attention grows with the square of an uncut prompt, so
// longer ones are cut.
constexpr int64_t kLongestWhole = 4096, kPiece = 512;
int64_t tokens_at_once(const CommonFlags& flags, int64_t prompt) {
  if (flags.engine.chunk > 0) return flags.engine.chunk;
  return prompt <= kLongestWhole ? prompt : kPiece;
}

// Plans the prompt in pieces and one token after it, on the model clock of a chip. The chip need not exist: a
// model's shapes and a profile are enough. A flag that changes no time on this chip gets a note, so that equal
// times do not surprise.
PlanReport on_a_chip(const CommonFlags& flags, const PlanFlags& plan) {
  const int64_t chunk = tokens_at_once(flags, plan.prompt);
  const std::string name = plan.shape.empty() ? flags.model : plan.shape;
  if (const double bits = soc_profile(flags.soc).weight_bits; bits > 0 && !plan.weights.empty() && !flags.quiet()) {
    std::fprintf(stderr, "note: %s fixes a weight at %g bits, so --weights changes no time\n", flags.soc.c_str(), bits);
  }
  const SocClock clock(soc_request(flags, name, weights_of(flags, plan), chunk, plan.prompt + 1));
  if (act_of(flags) == ActType::i8 && clock.profile().npu.int8_rate == 0 && !flags.quiet()) {
    std::fprintf(stderr, "note: the NPU of %s has no rate of 8-bit integers, so --act i8 changes no time\n",
                 flags.soc.c_str());
  }
  const std::string beyond = note_on_length(clock.config(), plan.prompt);
  if (!beyond.empty() && !flags.quiet()) std::fprintf(stderr, "note: %s\n", beyond.c_str());
  PlanReport report{clock.config().name.empty() ? name : clock.config().name,
                    "modelled: " + clock.profile().name,
                    flags.engine.plan,
                    {},
                    {}};
  // A run on the model clock has times for each span. They become a prediction, so that both clocks share one report.
  const auto add = [&](const std::string& phase, int64_t position, int64_t S) {
    ModelledPass pass = clock.pass(S, {plan.slow_sync ? SyncCost::slow : SyncCost::fast, position, plan.load});
    Prediction predicted = prediction_of(pass.plan, pass.run);
    report.phases.push_back({phase, S, position, std::move(pass.plan), std::move(predicted), std::move(pass.run)});
  };
  Planning planning(flags, plan.prompt);
  for (int64_t first = 0; first < plan.prompt; first += chunk) {
    planning.at(first);
    add("prefill", first, std::min(chunk, plan.prompt - first));
  }
  add("decode", plan.prompt, 1);
  planning.end();
  if (clock.config().experts)
    report.experts = plan_experts(clock.profile(), clock.config(), plan.prompt, chunk, calibration_of(flags));
  return report;
}

// Notes about flags that have no effect on the chosen clock.
void print_idle_flags(const CommonFlags& flags, const PlanFlags& plan) {
  if (flags.quiet()) return;
  for (const std::string& name : plan.idle_flags) {
    std::fprintf(stderr, "note: %s says nothing %s\n", name.c_str(),
                 flags.soc.empty() ? "without --soc" : "with --soc: the plan is one for that chip");
  }
}

PlanReport make_report(const CommonFlags& flags, const PlanFlags& plan) {
  if (!flags.soc.empty()) return on_a_chip(flags, plan);
  return on_this_machine(flags, plan);
}

}  // namespace

// The report is complete before anything is printed, so an error leaves no half of a report.
int plan_command(const CommonFlags& flags, const PlanFlags& plan) {
  apply_verbosity(flags);
  print_idle_flags(flags, plan);
  const PlanReport report = make_report(flags, plan);
  if (flags.json) {
    print_json(to_json(report));
  } else {
    print(report);
  }
  return kDone;
}

}  // namespace tandem::app
