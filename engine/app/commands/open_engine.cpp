#include "engine/app/commands/open_engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/app/file_flags.h"
#include "engine/app/interrupt.h"
#include "engine/app/progress.h"
#include "engine/app/trace_picture.h"
#include "engine/device/gpu/kept_file.h"
#include "engine/device/registry.h"
#include "engine/run/machine/expert_store.h"
#include "engine/run/machine/graph_memory.h"
#include "engine/run/pass_plans.h"
#include "engine/run/serve/model_drafts.h"
#include "sync/error.h"
#include "sync/output_file.h"

namespace tandem::app {

// Names of flags become values here, because the parser has checked them already.
Submit submit_of(const CommonFlags& flags) {
  if (flags.submit == "follow") return Submit::follow;
  return flags.submit == "dominant" ? Submit::dominant : Submit::ahead;
}

KvType kv_type_of(const CommonFlags& flags) { return flags.cache_type == "f32" ? KvType::f32 : KvType::f16; }

std::optional<ActType> act_of(const CommonFlags& flags) {
  for (const ActType act : {ActType::f32, ActType::f16, ActType::i8})
    if (flags.act == to_string(act)) return act;
  return std::nullopt;
}

void choose_act(const CommonFlags& flags, TextOptions& options) {
  options.act = act_of(flags);
  options.i8_for_integers = flags.act == "auto";
}

// Without a plan of the user's, the host is opened beside an NPU, and a note says so.
std::vector<std::string> devices_to_open(const CommonFlags& flags) {
  if (flags.engine.plan != "auto" || flags.engine.strict_device) return flags.engine.devices;
  std::vector<std::string> devices = with_host_beside_npus(flags.engine.devices);
  if (devices.size() > flags.engine.devices.size() && !flags.quiet())
    std::fprintf(stderr, "note: %s runs what %s does not\n", devices.back().c_str(),
                 flags.engine.devices.front().c_str());
  return devices;
}

// Adds the command's needs to the flags' options. A flag takes precedence over the command's needs, except for
// the context. The context is an exception because a command knows how many tokens it will run. `progress` lives until
// loading has ended, so its bar is wiped even after an error.
std::unique_ptr<Engine> open_engine(const CommonFlags& flags, const EngineNeeds& needs) {
  Progress progress("loading", ProgressUnit::bytes, !flags.quiet() && Progress::stderr_is_terminal());
  EngineOptions options = flags.engine;
  options.model_path = flags.model;
  options.devices = devices_to_open(flags);
  // -1 asks for measured shares, which is what an engine without a split does.
  if (options.split == std::vector{-1.0}) options.split.clear();
  choose_act(flags, options);
  options.kv_type = kv_type_of(flags);
  options.context = needs.context > 0 ? needs.context : flags.ctx_size;
  if (options.chunk == 0) options.chunk = needs.chunk;
  options.logit_rows = needs.logit_rows;
  options.drafts = needs.drafts;
  options.hidden_states = needs.hidden_states;
  options.route_every_token = !flags.routing_out.empty();
  options.sequences = needs.sequences;
  options.spare_texts = needs.spare_texts;
  options.sync_policy = sync::policy_named(flags.sync);
  options.wait_deadline = std::chrono::milliseconds(std::llround(flags.deadline_seconds * 1000));
  options.submit = submit_of(flags);
  options.program_folder = gpu::default_cache_folder();
  // Commands that generate text may begin without the GPU. Other commands compile missing kernels themselves, when they
  // first need them.
  if (needs.may_join_later && flags.compile == "background")
    options.warming_program = needs.program.empty() ? own_program() : needs.program;
  options.first_text = needs.first_text;
  if (flags.pack_cache || options.npu_memory_bytes > 0) {
    if (options.program_folder.empty())
      throw Error("there is no folder for packed weights", flags.pack_cache ? "--pack-cache" : "--npu-memory",
                  "Set XDG_CACHE_HOME or HOME");
    options.pack_cache_folder = options.program_folder + "/packed";
  }
  if (!options.program_folder.empty()) options.expert_folder = options.program_folder + "/packed";
  options.load_progress = [&](uint64_t done, uint64_t total) { progress.update(done, total); };
  const bool says_so = !flags.quiet() && Progress::stderr_is_terminal();
  options.on_long_work = [says_so](const std::string& what) {
    std::cout.flush();  // earlier results must be visible during long work
    if (says_so) std::fprintf(stderr, "%s ...\n", what.c_str());
  };
  auto engine = Engine::open(options);
  // This thread sleeps while passes run, and otherwise works beside the orchestrator. Measurements use the executor on
  // this thread.
  engine->machine().take_orchestrators_core();
  return engine;
}

std::shared_ptr<DraftModel> open_draft_model(const CommonFlags& flags, const Engine& target, int64_t texts) {
  if (flags.draft_model.empty()) return nullptr;
  Progress progress("loading the draft model", ProgressUnit::bytes, !flags.quiet() && Progress::stderr_is_terminal());
  ModelOptions options;
  options.model_path = flags.draft_model;
  options.load_progress = [&](uint64_t done, uint64_t total) { progress.update(done, total); };
  return load_draft_model(options, target, texts);
}

// Ctrl-C ends a long pass between two chunks.
ExtendOptions until_interrupted(Progress* progress) {
  ExtendOptions options{.interrupted = interrupted};
  if (progress) options.progress = progress_of(*progress);
  return options;
}

std::function<void(int64_t done, int64_t total)> progress_of(Progress& progress) {
  return [&progress](int64_t done, int64_t total) {
    progress.update(static_cast<uint64_t>(done), static_cast<uint64_t>(total));
  };
}

// A model may run beyond the length that it was trained with, and its text becomes worse there.
std::string note_on_length(const ModelConfig& config, int64_t tokens) {
  const int64_t trained = config.context_length;
  if (trained <= 0 || tokens <= trained) return "";
  return "a context of " + std::to_string(tokens) + " tokens is longer than the " + std::to_string(trained) +
         " that the model was trained for: behind those its text may make no sense";
}

namespace {

// Flags of experts that move have no use where all experts are in memory. Flags of lanes have no use without copies.
std::string note_on_idle_flags(const CommonFlags& flags, const Engine& engine) {
  const EngineOptions defaults, &given = flags.engine;
  const ExpertStore* store = engine.model().expert_store();
  std::string idle;
  const auto list = [&idle](bool is_given, const char* flag) {
    if (is_given) idle += (idle.empty() ? "" : ", ") + std::string(flag);
  };
  if (store == nullptr) {
    list(given.expert_copies, "--expert-copies");
    list(given.link_gbps > 0, "--link-gbps");
    list(given.disk_gbps > 0, "--disk-gbps");
  }
  if (store == nullptr || store->lanes() == nullptr) {
    list(given.expert_policy != defaults.expert_policy, "--expert-policy");
    list(given.insert_misses, "--insert");
    list(given.expert_prefetch != defaults.expert_prefetch, "--expert-prefetch");
    list(given.prefetch_layers != defaults.prefetch_layers, "--prefetch-layers");
  }
  if (idle.empty()) return "";
  return "no use here for " + idle +
         (store == nullptr ? ": no experts move (--expert-budget)" : ": no experts are copied (--expert-copies)");
}

}  // namespace

// The engine's own notes, then those on the length of the context.
void print_notes(const CommonFlags& flags, const Engine& engine, int64_t tokens) {
  if (flags.quiet()) return;
  std::vector<std::string> notes = engine.diagnostics();
  if (const int64_t media = engine.model().config().media_tensors; media > 0)
    notes.push_back("only the text part of this model runs: " + std::to_string(media) +
                    " tensors that read pictures or sound are left out");
  notes.push_back(note_on_idle_flags(flags, engine));
  notes.push_back(note_on_length(engine.model().config(), tokens > 0 ? tokens : engine.sizes().context));
  if (flags.ctx_size > 0 && engine.sizes().context > flags.ctx_size)
    notes.push_back("the context holds " + std::to_string(engine.sizes().context) +
                    " tokens: --ctx-size is too small for what is asked for");
  for (const std::string& note : notes)
    if (!note.empty()) std::fprintf(stderr, "note: %s\n", note.c_str());
}

// Counts of NPUMoE's graphs; null: no expert ran in one.
nlohmann::json experts_json(const Engine& engine) {
  const ExpertTotals& totals = engine.expert_use().totals();
  if (totals.graphs == 0) return nullptr;
  return {{"graphs", totals.graphs},
          {"choices", totals.choices},
          {"slots", totals.slots},
          {"padded_share", totals.padded_share()},
          {"elsewhere_share", totals.share_of_choices(totals.elsewhere)},
          {"spilled_share", totals.share_of_choices(totals.spilled)},
          {"dropped_share", totals.share_of_choices(totals.dropped)}};
}

// Shares are of choices, except the empty rows, which are a share of the computed rows. One line has both, because a
// larger room lowers overflow and raises padding (N2).
void print_experts(const CommonFlags& flags, const Engine& engine) {
  const ExpertTotals& totals = engine.expert_use().totals();
  if (flags.quiet() || totals.graphs == 0) return;
  const auto percent = [&](int64_t of) { return 100 * totals.share_of_choices(of); };
  std::fprintf(
      stderr,
      "experts on the NPU: %.1f %% of the choices in %lld groups, those of a layer launched together, %.1f %% of their "
      "rows empty; beyond their room %.1f %% of the choices spilled, %.1f %% dropped\n",
      percent(totals.valid), static_cast<long long>(totals.graphs), 100 * totals.padded_share(),
      percent(totals.spilled), percent(totals.dropped));
}

namespace {

// Reads into the host's memory, for prompts and text apart; null: it holds all experts.
nlohmann::json host_memory_json(const HostTier* tier) {
  if (tier == nullptr) return nullptr;
  const auto of = [](const HostTier::Totals& totals) -> nlohmann::json {
    return {{"asked", totals.asked},
            {"reads", totals.reads},
            {"read_bytes", totals.read_bytes},
            {"waited_ms", totals.waited_seconds * 1e3}};
  };
  return {{"experts_per_layer", tier->places()},
          {"bytes", tier->bytes()},
          {"taken_back", tier->taken_back()},
          {"prompts", of(tier->of_prompts())},
          {"text", of(tier->of_text())}};
}

// Counts of lanes that divide experts (Y1 to Y4), for prompts and text apart: where experts ran, what the link copied,
// and what a measured pass took beside what its schedule expected.
nlohmann::json lanes_json(const Engine& engine, const ExpertStore& store) {
  const LaneDecider& lanes = *store.lanes();
  const auto of = [&](const LaneTotals& totals) -> nlohmann::json {
    return {{"choices", totals.choices},
            {"in_slots", totals.in_slots},
            {"copied", totals.landed},
            {"on_host", totals.on_host},
            {"experts_in_slots", totals.slot_experts},
            {"experts_copied", totals.landed_experts},
            {"experts_on_host", totals.host_experts},
            {"experts_kept", totals.kept},
            {"link_bytes", static_cast<uint64_t>(totals.landed_experts) * store.expert_bytes()},
            {"decisions", totals.decisions},
            {"deciding_ms", totals.deciding_seconds * 1e3},
            {"expected_ms", totals.expected_seconds * 1e3},
            {"passes_with_link", totals.passes_with_link},
            {"passes_without_link", totals.passes_without},
            {"evictions", totals.evictions},
            {"passes_with_prefetch", totals.passes_with_prefetch},
            {"passes_with_deep_prefetch", totals.passes_with_deep_prefetch},
            {"experts_copied_ahead", totals.ahead_experts},
            {"prefetch_useful_bytes", totals.useful_bytes},
            {"prefetch_late_bytes", totals.late_bytes},
            {"prefetch_wasted_bytes", totals.wasted_bytes},
            {"measured",
             {{"passes", totals.measured_passes},
              {"expected_ms", totals.measured_expected * 1e3},
              {"experts_ms", totals.measured.experts * 1e3},
              {"gpu_ms", totals.measured.gpu * 1e3},
              {"host_ms", totals.measured.host * 1e3},
              {"link_ms", totals.measured.link * 1e3},
              {"stalls_ms", totals.measured.stalls * 1e3}}}};
  };
  const ExpertCosts& costs = lanes.costs();
  const auto plans = [&](bool of_text) {
    nlohmann::json rows = nlohmann::json::array();
    for (const LanePlans::Row& row : lanes.plans().rows(of_text)) {
      nlohmann::json each = {{"plan", std::string(row.name)}};
      if (std::isfinite(row.offer.predicted)) each["predicted_ms"] = row.offer.predicted * 1e3;
      if (row.offer.measured) each["measured_ms"] = *row.offer.measured * 1e3;
      rows.push_back(std::move(each));
    }
    return rows;
  };
  return {{"policy", store.policy()},
          {"insert", store.inserts_misses() ? "miss" : "transfer"},
          {"link_gbps", engine.machine().link_gbps()},
          {"host_slower", engine.machine().host_slower()},
          {"landing_bytes", store.landing_bytes()},
          {"host_memory", host_memory_json(store.host_tier())},
          {"costs_us",
           {{"cpu_fixed", costs.cpu_fixed * 1e6},
            {"cpu_per_token", costs.cpu_per_token * 1e6},
            {"gpu_fixed", costs.gpu_fixed * 1e6},
            {"gpu_per_token", costs.gpu_per_token * 1e6},
            {"link_offset", costs.link_offset * 1e6},
            {"transfer", costs.transfer * 1e6}}},
          {"prompts", of(lanes.of_prompts())},
          {"text", of(lanes.of_text())},
          {"plans_of_prompts", plans(false)},
          {"plans_of_text", plans(true)}};
}

void print_host_memory(const HostTier& tier) {
  const auto print = [](const char* what, const HostTier::Totals& totals) {
    if (totals.asked == 0) return;
    std::fprintf(stderr,
                 "  %s: of %lld experts without a slot, %lld were read (%.1f MiB), for which passes waited %.1f ms\n",
                 what, static_cast<long long>(totals.asked), static_cast<long long>(totals.reads),
                 static_cast<double>(totals.read_bytes) / (1 << 20), totals.waited_seconds * 1e3);
  };
  print("prompts", tier.of_prompts());
  print("the text", tier.of_text());
  if (tier.taken_back() > 0)
    std::fprintf(stderr, "  %lld experts went from slots back to the host's memory\n",
                 static_cast<long long>(tier.taken_back()));
}

// Prompts and text apart, as for experts that move.
void print_lanes(const ExpertStore& store) {
  const auto print = [&](const char* what, const LaneTotals& totals) {
    if (totals.choices == 0) return;
    const auto percent = [&](int64_t some) {
      return 100 * static_cast<double>(some) / static_cast<double>(totals.choices);
    };
    std::fprintf(
        stderr,
        "experts of %s: %.1f %% of the choices in slots of the GPU, %.1f %% copied to it (%.1f MiB), %.1f %% on "
        "the host; %lld experts were kept, and decisions took %.1f ms\n",
        what, percent(totals.in_slots), percent(totals.landed),
        static_cast<double>(totals.landed_experts) * static_cast<double>(store.expert_bytes()) / (1 << 20),
        percent(totals.on_host), static_cast<long long>(totals.kept), totals.deciding_seconds * 1e3);
    constexpr double kMebibyte = 1 << 20;
    if (totals.passes_with_prefetch > 0)
      std::fprintf(
          stderr, "  copied ahead in %lld passes: %.1f MiB useful, %.1f MiB late, %.1f MiB wasted\n",
          static_cast<long long>(totals.passes_with_prefetch), static_cast<double>(totals.useful_bytes) / kMebibyte,
          static_cast<double>(totals.late_bytes) / kMebibyte, static_cast<double>(totals.wasted_bytes) / kMebibyte);
    if (totals.measured_passes > 0)
      std::fprintf(
          stderr,
          "  %lld measured passes: experts took %.1f ms (%.1f ms expected), %.1f ms of them waiting for copies "
          "alone\n",
          static_cast<long long>(totals.measured_passes), totals.measured.experts * 1e3, totals.measured_expected * 1e3,
          totals.measured.stalls * 1e3);
  };
  print("prompts", store.lanes()->of_prompts());
  print("the text", store.lanes()->of_text());
  if (store.host_tier() != nullptr) print_host_memory(*store.host_tier());
}

}  // namespace

// Counts of near-memory units. Times are modelled, so they have a clock of their own in the document.
nlohmann::json near_memory_json(const Engine& engine) {
  const NearMemorySides* sides = engine.plans().sides();
  if (sides == nullptr) return nullptr;
  const auto of = [](const SideTotals& totals) -> nlohmann::json {
    return {{"choices_on_gpu", totals.on_gpu},
            {"choices_on_units", totals.on_units},
            {"hits", totals.hits},
            {"experts_moved", totals.moved},
            {"experts_prefetched", totals.prefetched},
            {"modelled_experts_ms", totals.seconds * 1e3},
            {"modelled_copy_ms", totals.copy_seconds * 1e3}};
  };
  return {{"clock", "modelled"}, {"prompts", of(sides->of_prompts())}, {"text", of(sides->of_text())}};
}

// The time of the experts on the described machine. The wall clock of the emulated units is left out.
void print_near_memory(const CommonFlags& flags, const Engine& engine) {
  const NearMemorySides* sides = engine.plans().sides();
  if (flags.quiet() || sides == nullptr) return;
  const auto print = [](const char* of, const SideTotals& totals) {
    const double all = std::max(1.0, static_cast<double>(totals.on_gpu + totals.on_units));
    std::fprintf(
        stderr,
        "near-memory units, %s: %.1f %% of the choices; modelled, not measured: %.3f ms for the experts of all "
        "layers, %.3f ms for copies behind prompts\n",
        of, 100 * static_cast<double>(totals.on_units) / all, totals.seconds * 1e3, totals.copy_seconds * 1e3);
  };
  print("prompts", sides->of_prompts());
  print("text", sides->of_text());
}

// Counts of experts that move between memory and file; null: all experts stay in memory.
nlohmann::json expert_store_json(const Engine& engine) {
  const ExpertStore* store = engine.model().expert_store();
  if (store == nullptr) return nullptr;
  const auto of = [](const ExpertStore::Totals& totals) -> nlohmann::json {
    return {{"choices", totals.choices},       {"hits", totals.hits},
            {"hit_rate", totals.hit_rate()},   {"loads", totals.loads},
            {"read_bytes", totals.read_bytes}, {"waited_ms", totals.waited_seconds * 1e3}};
  };
  nlohmann::json lanes = nullptr;
  if (store->lanes() != nullptr) lanes = lanes_json(engine, *store);
  const HotLoading::Totals hot = store->of_hot();
  return {{"slots_given_back", store->slot_changes().given_back},
          {"slots_taken_again", store->slot_changes().taken_again},
          {"hot_loads", hot.taken},
          {"hot_read_bytes", hot.read_bytes},
          {"lanes", std::move(lanes)},
          {"slots_per_layer", store->slots()},
          {"experts_per_layer", store->experts()},
          {"bytes", store->bytes()},
          {"evictions", store->evictions()},
          {"disk_gbps", engine.machine().disk_gbps()},
          {"reader", store->how()},
          {"prompts", of(store->of_prompts())},
          {"text", of(store->of_text())}};
}

// Prompts and text apart: a prompt asks for nearly all experts, so its hits say nothing about the text's.
void print_expert_store(const CommonFlags& flags, const Engine& engine) {
  const ExpertStore* store = engine.model().expert_store();
  if (flags.quiet() || store == nullptr) return;
  const auto print = [](const char* what, const ExpertStore::Totals& totals) {
    if (totals.choices == 0) return;
    std::fprintf(stderr,
                 "experts of %s: %.1f %% of the choices in memory, %lld read (%.1f MiB), for which passes waited %.1f "
                 "ms\n",
                 what, 100 * totals.hit_rate(), static_cast<long long>(totals.loads),
                 static_cast<double>(totals.read_bytes) / (1 << 20), totals.waited_seconds * 1e3);
  };
  print("prompts", store->of_prompts());
  print("the text", store->of_text());
  if (store->lanes() != nullptr) print_lanes(*store);
}

// Counts of the NPU's graphs (S1); null: all graphs are in memory.
nlohmann::json graph_loads_json(const Engine& engine) {
  const GraphMemory* memory = engine.model().graph_memory();
  if (memory == nullptr) return nullptr;
  const GraphMemory::Totals& totals = memory->totals();
  return {{"budget_bytes", totals.budget_bytes},
          {"peak_bytes", totals.peak_bytes},
          {"loads", totals.loads},
          {"loaded_bytes", totals.loaded_bytes},
          {"load_ms", totals.load_seconds * 1e3},
          {"waited_ms", totals.waited_seconds * 1e3}};
}

void print_graph_loads(const CommonFlags& flags, const Engine& engine) {
  const GraphMemory* memory = engine.model().graph_memory();
  if (flags.quiet() || memory == nullptr) return;
  const GraphMemory::Totals& totals = memory->totals();
  constexpr double kMebibyte = 1 << 20;
  std::fprintf(stderr,
               "graphs on the NPU: at most %.1f of %.1f MiB, %lld loads of %.1f MiB in %.1f ms, of which passes waited "
               "%.1f ms\n",
               static_cast<double>(totals.peak_bytes) / kMebibyte, static_cast<double>(totals.budget_bytes) / kMebibyte,
               static_cast<long long>(totals.loads), static_cast<double>(totals.loaded_bytes) / kMebibyte,
               totals.load_seconds * 1e3, totals.waited_seconds * 1e3);
}

// Reasons why another plan might give other bits. The list is empty on all usual devices.
nlohmann::json bits_json(const Engine& engine) {
  return {{"same_on_every_plan", engine.contract().other_bits.empty()}, {"reasons", engine.contract().other_bits}};
}

// The machine records only if there is a file for it.
TraceFile::TraceFile(const CommonFlags& flags, Engine& engine)
    : path_(flags.trace), engine_(engine), is_quiet_(flags.quiet()) {
  if (path_.empty()) return;
  engine_.machine().record(&timeline_);
  if (ExpertStore* store = engine_.model().expert_store()) store->record_reads(true);
}

// Reads of experts run beside the devices, so they have a lane of their own.
void TraceFile::stop() {
  if (path_.empty()) return;
  engine_.machine().record(nullptr);
  ExpertStore* const store = engine_.model().expert_store();
  if (store == nullptr) return;
  store->record_reads(false);
  for (const ExpertStore::FileRead& read : store->take_reads()) {
    if (read.end == 0) continue;  // its pass has failed
    Span span{"disk", std::to_string(read.experts) + " experts of layer " + std::to_string(read.layer), read.start,
              read.end};
    span.bytes = static_cast<double>(read.bytes);
    span.device = span.track;
    timeline_.add(std::move(span));
  }
}

// Recording stops before the file is written: the timeline must not change meanwhile. The ending of the path decides
// the form.
void TraceFile::finish() {
  if (path_.empty()) return;
  stop();
  if (timeline_.dropped() > 0 && !is_quiet_)
    std::fprintf(stderr, "note: the trace has the last %zu of %zu spans\n", timeline_.spans().size(),
                 timeline_.count());
  const bool draws = path_.ends_with(".svg");
  write_output(path_, draws ? trace_picture(timeline_) : timeline_.trace_json(), while_unread(path_));
}

// The link leads to the program even if it was started by a relative path or through PATH.
std::string own_program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : path.string();
}

}  // namespace tandem::app
