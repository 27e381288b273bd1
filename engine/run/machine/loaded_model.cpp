#include "engine/run/machine/loaded_model.h"

#include <malloc.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "engine/device/gpu/driver_pages.h"
#include "engine/model/loading.h"
#include "engine/model/packed_file.h"
#include "engine/run/machine/expert_budget.h"
#include "engine/run/machine/expert_store.h"
#include "engine/run/machine/graph_memory.h"
#include "engine/run/machine/hot_file.h"
#include "engine/run/machine/kernel_set.h"
#include "engine/run/machine/pack_cache.h"
#include "sync/affinity.h"
#include "sync/error.h"
#include "sync/memory_room.h"

namespace tandem {
namespace {

// A token beyond the embedding's rows would be read from other memory, so such a file is refused.
std::unique_ptr<Tokenizer> make_tokenizer_for(const GgufFile& file, const ModelConfig& config) {
  auto tokenizer = make_tokenizer(file);
  if (tokenizer->size() > config.vocabulary) {
    throw Error("the tokenizer has more tokens than the model", file.path(),
                std::to_string(tokenizer->size()) + " against " + std::to_string(config.vocabulary) +
                    " rows of token_embd.weight");
  }
  return tokenizer;
}

// Experts are copied only on a machine with a link for them.
std::optional<ExpertCopies> copies_of(const Machine& machine, const ModelOptions& options, int64_t in_host) {
  if (!machine.copies_experts()) return std::nullopt;
  return ExpertCopies{machine.link_gbps(), machine.host_slower(), options.expert_policy, options.insert_misses,
                      in_host};
}

std::string note_on_copies(const Machine& machine, const ExpertStore& store) {
  constexpr double kMebibyte = 1 << 20;
  std::string note = fmt::format(
      "{} of {} experts of each layer have slots on the GPU ({:.1f} MiB, and landings of {:.1f} MiB); the host's "
      "memory has ",
      store.slots(), store.experts(), static_cast<double>(store.bytes()) / kMebibyte,
      static_cast<double>(store.landing_bytes()) / kMebibyte);
  if (const HostTier* tier = store.host_tier())
    note += fmt::format("{} of them ({:.1f} MiB), and others are read when they are needed ({})", tier->places(),
                        static_cast<double>(tier->bytes()) / kMebibyte, store.how());
  else
    note += "all of them";
  if (machine.link_gbps() > 0) note += fmt::format("; the link is slowed down to {:g} GB/s", machine.link_gbps());
  return note;
}

}  // namespace

// The parts of a model, in the order in which they may go: graphs and experts use the file and the weights.
struct LoadedModel::State {
  State(std::shared_ptr<Machine> machine, const ModelOptions& options, GgufFile file);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  void load(const ModelOptions& options);
  void require_npu_for(const ModelOptions& options) const;
  void make_graph_memory(const ModelOptions& options);
  std::optional<CopiedExperts> slots_of_experts(const ModelOptions& options, const ModelLoading& loading);
  void load_with_moving_experts(const ModelOptions& options, ModelLoading& loading, const CopiedExperts& experts);
  void open_packed(const ModelOptions& options, std::span<const size_t> slot_bytes);
  void pack_records(const ModelOptions& options, ModelLoading& loading);
  HotExperts uses() const;
  bool begin_with_hot_experts();
  void keep_hot_experts();
  std::optional<MemoryRoom> room() const;
  std::optional<MemoryRoom> room_on_card() const;
  void leave_memory_that_is_too_small(uint64_t weights) const;
  void fit_experts();

  const std::shared_ptr<Machine> machine_;
  const GgufFile file_;
  PackCache pack_cache_;
  std::optional<PackedFile> packed_;  // only if the weights are mapped, or graphs are loaded from it
  const OnLongWork on_long_work_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<ExpertStore> expert_store_;  // it uses the file; the weights point to it
  bool keeps_hot_experts_ = false;
  const FreeMemory free_memory_;
  std::optional<MemoryRoom> first_room_;  // before the model was loaded; nothing: the user gave a budget
  Model model_;
  std::unique_ptr<GraphMemory> graph_memory_;  // last: it uses the file and the weights
  std::vector<std::string> diagnostics_;
};

LoadedModel::LoadedModel(std::shared_ptr<Machine> machine, const ModelOptions& options)
    : LoadedModel(std::move(machine), options, GgufFile::open(options.model_path)) {}

LoadedModel::LoadedModel(std::shared_ptr<Machine> machine, const ModelOptions& options, GgufFile file)
    : state_(std::make_unique<State>(std::move(machine), options, std::move(file))) {}

LoadedModel::~LoadedModel() = default;

LoadedModel::State::State(std::shared_ptr<Machine> machine, const ModelOptions& options, GgufFile file)
    : machine_(std::move(machine)),
      file_(std::move(file)),
      pack_cache_(options.pack_cache_folder, options.pack_cache_bytes),
      on_long_work_(machine_->on_long_work()),
      free_memory_(options.free_memory) {
  machine_->orchestrator().run([&] {
    // Loading threads inherit this thread's mask, so the orchestrator takes its own core only afterwards. Opening the
    // devices hardly works in parallel. Meanwhile the other cores make the tokenizer and pack.
    pin_this_thread(usable_cores());
    try {
      load(options);
    } catch (const Error&) {
      file_.require_unchanged();  // a changed file is the better reason
      throw;
    }
    file_.require_unchanged();
    machine_->take_orchestrators_core();
  });
}

// Packed weights of an earlier start are mapped, or read if a device cannot use mapped pages. Otherwise the weights are
// packed on all cores but one. This thread opens the devices in both cases.
void LoadedModel::State::load(const ModelOptions& options) {
  const gpu::DriverPages driver_pages;
  ModelLoading loading(file_, machine_->pool(),
                       options.only_layers_of_every_kind ? layers_of_every_kind(file_, read_config(file_)) : 0);
  // The tokenizer takes long for large vocabularies, so it is made while weights are loaded.
  const int cores = static_cast<int>(usable_cores().size());
  const auto make = [&] { tokenizer_ = make_tokenizer_for(file_, loading.config()); };
  const std::vector<size_t> slot_bytes = loading.slot_bytes();
  const uint64_t weights = std::accumulate(slot_bytes.begin(), slot_bytes.end(), uint64_t{0});
  const auto open_devices = [&] {
    if (!machine_->is_open()) machine_->open_devices();
    leave_memory_that_is_too_small(weights);
    require_npu_for(options);
  };
  // A card's memory decides how many experts of a mixture it holds.
  if (!loading.records().empty() && !machine_->is_open() && machine_->card()) machine_->open_devices();
  if (const auto experts = slots_of_experts(options, loading)) {
    auto made = std::async(std::launch::async, make);
    load_with_moving_experts(options, loading, *experts);
    made.get();
    return;
  }
  open_packed(options, slot_bytes);
  if (!packed_ && pack_cache_.on()) packed_ = pack_cache_.find(file_.identity(), slot_bytes);
  if (!packed_) require_memory(weights, "the weights of " + file_.path());
  if (packed_) {
    auto made = std::async(std::launch::async, make);
    open_devices();
    loading.take(*packed_, machine_->maps_files() ? PackedUse::mapped : PackedUse::read);
    if (!machine_->maps_files() && options.npu_memory_bytes == 0) packed_.reset();
    made.get();
  } else {
    // One core stays free for this thread, which opens the devices meanwhile.
    loading.start(std::max(1, cores - 1), make);
    open_devices();
    pin_this_thread(usable_cores());
    loading.widen(cores);
  }
  // Gives back memory of drivers' code, and memory that was freed after the tokenizer was made and drivers were
  // started. Most of the weights' memory is written only after this.
  driver_pages.give_back();
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  model_ = loading.finish(cores, options.load_progress);
  if (options.npu_memory_bytes > 0) make_graph_memory(options);
}

// How many slots the budgets leave to each layer; nothing: all experts stay in memory. Without copies the host's memory
// has the slots alone. Budgets that contradict other flags are errors.
std::optional<CopiedExperts> LoadedModel::State::slots_of_experts(const ModelOptions& options,
                                                                  const ModelLoading& loading) {
  const PackedSizes sizes = packed_sizes(loading.records(), loading.slot_bytes());
  if (!sizes.records.empty()) first_room_ = room();
  const std::optional<MemoryRoom> on_card = machine_->is_open() ? room_on_card() : std::nullopt;
  const bool card_decides = on_card && (!first_room_ || on_card->bytes < first_room_->bytes);
  if (card_decides) first_room_ = on_card;
  std::optional<CopiedExperts> experts;
  if (machine_->copies_experts())
    experts = copied_experts(options.expert_budget, options.host_budget, sizes, first_room_);
  else if (const auto slots = expert_slots(options.expert_budget, options.host_budget, sizes, first_room_))
    experts = CopiedExperts{*slots, *slots};
  constexpr auto kAutomatic = ExpertBudget::Unit::automatic;
  const bool is_automatic = options.expert_budget.unit == kAutomatic && options.host_budget.unit == kAutomatic;
  if (card_decides || !is_automatic) first_room_.reset();
  if (experts && options.npu_memory_bytes > 0)
    throw Error("experts that move have no graphs on the NPU", "--npu-memory with a budget for experts",
                "Leave out --npu-memory, or the budget");
  return experts;
}

// The devices come first: a machine whose devices do not fit needs no packed file.
void LoadedModel::State::load_with_moving_experts(const ModelOptions& options, ModelLoading& loading,
                                                  const CopiedExperts& experts) {
  if (!machine_->is_open()) machine_->open_devices("it fetches experts");
  if (machine_->card_is_alone()) machine_->add_host_for(std::vector{Operator{"", ExpertFetch{}}});
  if (!machine_->fetches_experts())
    throw Error("no device fetches experts", machine_->device_names(),
                "Add the host: --device " + machine_->device_names() + ",host");
  pack_records(options, loading);
  expert_store_ = std::make_unique<ExpertStore>(machine_->pool(), *packed_, loading.records(), loading.config().layers,
                                                experts.slots, copies_of(*machine_, options, experts.in_host),
                                                machine_->disk_gbps());
  loading.take(*packed_, machine_->maps_files() ? PackedUse::mapped : PackedUse::read, expert_store_->moving());
  model_ = loading.finish(1);
  if (machine_->disk_gbps() > 0)
    diagnostics_.push_back(fmt::format("reads of experts are slowed down to {:g} GB/s", machine_->disk_gbps()));
  if (machine_->copies_experts()) {
    diagnostics_.push_back(note_on_copies(*machine_, *expert_store_));
    if (!options.hot_experts || !begin_with_hot_experts()) expert_store_->begin_with_first();
    return;
  }
  diagnostics_.push_back(
      fmt::format("{} of {} experts of each layer are in memory ({:.1f} MiB); the others are read from "
                  "{} when they are needed ({})",
                  experts.slots, expert_store_->experts(), static_cast<double>(expert_store_->bytes()) / (1 << 20),
                  packed_->path(), expert_store_->how()));
  if (options.hot_experts) begin_with_hot_experts();
}

HotExperts LoadedModel::State::uses() const {
  HotExperts uses = expert_store_->uses();
  if (const auto identity = file_.identity()) uses.packed = PackedFile::name(*identity);
  return uses;
}

// False: no earlier run has left counts. The next pass may begin at once, whatever is read in the background.
bool LoadedModel::State::begin_with_hot_experts() {
  keeps_hot_experts_ = true;
  std::string why;
  const auto earlier = read_hot_file(hot_file_of(packed_->path()), uses(), why);
  if (!why.empty()) diagnostics_.push_back("counts of the experts that earlier runs used are ignored (" + why + ")");
  if (!earlier) return false;
  expert_store_->begin_with(*earlier);
  diagnostics_.push_back(machine_->copies_experts()
                             ? "slots begin with the experts that earlier runs used most"
                             : "the experts that earlier runs used most are read in the background");
  return true;
}

// Nothing: the devices work in the host's memory, or the user named them.
std::optional<MemoryRoom> LoadedModel::State::room_on_card() const {
  if (!machine_->card_is_alone()) return std::nullopt;
  const DeviceInfo& card = machine_->devices().front()->info();
  if (card.zero_copy || card.memory_bytes <= 0) return std::nullopt;
  return MemoryRoom{static_cast<uint64_t>(card.memory_bytes), "the memory of " + card.id};
}

void LoadedModel::State::leave_memory_that_is_too_small(uint64_t weights) const {
  if (!machine_->card_is_alone()) return;
  const DeviceInfo& card = machine_->devices().front()->info();
  if (holds_weights(card, weights)) return;
  machine_->leave_memory_of_card(fmt::format("{} MiB of weights do not fit its own, which has {} MiB", weights >> 20,
                                             static_cast<uint64_t>(card.memory_bytes) >> 20));
}

std::optional<MemoryRoom> LoadedModel::State::room() const {
  return free_memory_ ? MemoryRoom{free_memory_(), "the caller's share"} : memory_room();
}

// Contexts, drafts and other programs take memory while texts run.
void LoadedModel::State::fit_experts() {
  if (!expert_store_ || !first_room_ || machine_->copies_experts()) return;
  const auto now = room();
  if (!now) return;
  ExpertStore& store = *expert_store_;
  const int64_t before = store.slots();
  store.use_slots(slots_from_now_on({before, store.most_slots(), now->bytes, first_room_->bytes,
                                     store.bytes() / static_cast<size_t>(store.most_slots())}));
  if (store.slots() == before) return;
  for (size_t l = 0; l < model_.weights.moving.size(); ++l)
    model_.weights.moving[l].given_back = store.moving()[l].given_back;
  spdlog::info("{} of {} experts of each layer are in memory from now on, after {}; {} MiB are free in {}",
               store.slots(), store.experts(), before, now->bytes >> 20, now->whose);
}

void LoadedModel::State::keep_hot_experts() {
  if (keeps_hot_experts_ && expert_store_) write_hot_file(hot_file_of(packed_->path()), uses());
}

// The user's own packed file must be of this model.
void LoadedModel::State::open_packed(const ModelOptions& options, std::span<const size_t> slot_bytes) {
  if (options.packed_file.empty()) return;
  std::string why = "the model is no regular file";
  if (const auto identity = file_.identity())
    packed_ = PackedFile::open(options.packed_file, *identity, slot_bytes, why);
  if (packed_) return;
  if (why.empty()) why = "there is no such file";
  std::error_code ignored;
  const bool is_model = std::filesystem::equivalent(options.packed_file, file_.path(), ignored);
  throw Error("a packed file cannot be used (" + (is_model ? "it is the model itself" : why) + ")", options.packed_file,
              is_model ? "Leave out --packed, or name a file of tandem pack"
                       : "Make it again: tandem pack -m " + file_.path() + " -o " + options.packed_file);
}

// Finds the packed file of an earlier start, or writes it piece by piece.
void LoadedModel::State::pack_records(const ModelOptions& options, ModelLoading& loading) {
  const std::vector<size_t> slot_bytes = loading.slot_bytes();
  open_packed(options, slot_bytes);
  if (packed_) return;
  if (!pack_cache_.on()) pack_cache_ = PackCache(options.expert_folder, PackedFileWriter::file_bytes(slot_bytes));
  packed_ = pack_cache_.find(file_.identity(), slot_bytes);
  if (packed_) return;
  if (!pack_cache_.wants())
    throw Error("there is no place for packed weights, from which experts are read",
                options.expert_folder.empty() ? file_.path() : options.expert_folder,
                "Give a folder with room for them and a model that is a file");
  if (on_long_work_) on_long_work_("packing the weights into a file, from which experts are read");
  const int cores = static_cast<int>(usable_cores().size());
  packed_ = pack_cache_.write([&](PackedFileWriter& file) {
    loading.pack_pieces(cores, kPieceBytes, options.load_progress,
                        [&file](std::span<const std::byte> piece) { file.write(piece); });
  });
}

// An NPU without graphs of its own has no memory that a budget could limit.
void LoadedModel::State::require_npu_for(const ModelOptions& options) const {
  if (options.npu_memory_bytes == 0 || machine_->first_with(&DeviceInfo::static_graphs)) return;
  throw Error("there is no NPU with graphs", "--npu-memory on " + machine_->device_names(),
              "Name an NPU too (--device npu:0,host), or leave --npu-memory out");
}

// Packed weights that were not kept before are kept now, because graphs are loaded from their file.
void LoadedModel::State::make_graph_memory(const ModelOptions& options) {
  if (!packed_) {
    if (on_long_work_) on_long_work_("keeping the packed weights, from which the NPU's graphs are loaded");
    packed_ = pack_cache_.keep(model_.weights.slots, model_.weights.records);
  }
  if (!packed_)
    throw Error("packed weights are not kept, so the NPU's graphs cannot be loaded from them",
                options.pack_cache_folder.empty() ? "--npu-memory" : options.pack_cache_folder,
                "Give a folder with room for them and a model that is a file, or leave --npu-memory out");
  graph_memory_ = std::make_unique<GraphMemory>(machine_->pool(), *packed_, model_.weights, options.npu_memory_bytes);
}

// New packed weights are written at the end, when no text waits any more.
LoadedModel::State::~State() {
  if (pack_cache_.wants() && !model_.weights.slots.empty()) {
    if (on_long_work_) on_long_work_("keeping the packed weights for the next start");
    pack_cache_.keep(model_.weights.slots, model_.weights.records);
  }
  keep_hot_experts();
  // Slots are released on the orchestrator, on which devices might still use them.
  machine_->orchestrator().run_or_here([this] {
    graph_memory_.reset();
    expert_store_.reset();
    for (sync::Slot* slot : model_.weights.slots) machine_->pool().release(*slot);
  });
}

const Tokenizer& LoadedModel::tokenizer() const { return *state_->tokenizer_; }
int64_t LoadedModel::vocabulary() const { return state_->model_.config.vocabulary; }
size_t LoadedModel::weight_bytes() const { return state_->model_.weights.bytes; }
const std::shared_ptr<Machine>& LoadedModel::machine() const { return state_->machine_; }
const Model& LoadedModel::model() const { return state_->model_; }
const ModelConfig& LoadedModel::config() const { return state_->model_.config; }
const GgufFile& LoadedModel::file() const { return state_->file_; }
void LoadedModel::require_weights() const {
  if (state_->packed_) state_->packed_->require_unchanged();
}

void LoadedModel::fit_experts() const { state_->fit_experts(); }
ExpertStore* LoadedModel::expert_store() const { return state_->expert_store_.get(); }
const std::vector<std::string>& LoadedModel::diagnostics() const { return state_->diagnostics_; }
GraphMemory* LoadedModel::graph_memory() const { return state_->graph_memory_.get(); }

}  // namespace tandem
