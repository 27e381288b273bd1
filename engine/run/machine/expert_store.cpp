#include "engine/run/machine/expert_store.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "engine/device/operators/matmul.h"
#include "engine/tensor/routing.h"
#include "sync/affinity.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "sync/throttle.h"

namespace tandem {
namespace {

// So many choices for each expert ask for most of them.
constexpr int64_t kChoicesOfMostExperts = 4;

// With copies: places of a landing that one token may need, and a rough rate of memory. So many products of a row take
// as long as reading the weights once. Both are first guesses of costs.
constexpr int64_t kLeastPlaces = 4;
constexpr double kFirstBytesPerSecond = 8e9, kFirstTokensOfRead = 4;
constexpr std::string_view kStaticSlots = "static";
constexpr double kFirstHandOver = 30e-6;  // seconds, also a first guess: a thread that sleeps is woken

// A pass waits no longer than for a copy of so many bytes of a hot expert.
constexpr size_t kPieceOfHot = size_t{256} << 10;

}  // namespace

// Slots are of activations, because they are written while passes run. They are divided, so that a card gets the
// experts alone that have changed.
ExpertStore::ExpertStore(sync::Pool& pool, const PackedFile& file, std::span<const ExpertRecords> records,
                         int64_t layers, int64_t slots, const std::optional<ExpertCopies>& copies, double disk_gbps)
    : pool_(pool),
      file_(file),
      most_slots_(slots),
      slots_(slots),
      copies_(copies),
      disk_bytes_per_second_(disk_gbps * 1e9),
      index_of_(static_cast<size_t>(layers), -1),
      moving_(static_cast<size_t>(layers)),
      reader_(file.descriptor(), file.path(), sync::kBlockReads, usable_cores()) {
  for (const ExpertRecords& each : records) {
    const int64_t own = std::min(slots, each.count);
    const size_t bytes = static_cast<size_t>(own) * each.bytes;
    sync::Slot& memory =
        pool_.acquire(bytes, sync::SlotUse::activations, "experts of layer " + std::to_string(each.layer));
    memory.divide(each.bytes);
    index_of_[static_cast<size_t>(each.layer)] = std::ssize(layers_);
    layers_.push_back({each, ResidentExperts(each.count, own), &memory});
    MovingExperts& moving = moving_[static_cast<size_t>(each.layer)];
    moving.slots = own, moving.slot_bytes = each.bytes;
    moving.experts = {&memory, 0}, moving.source = this;
    experts_ = std::max(experts_, each.count);
    bytes_ += bytes;
  }
  if (!copies_) return;
  take_host_memory();
  make_lanes();
}

// All experts are read at once if the host's memory holds them all. Otherwise the memory of the budget alone counts as
// taken, since most of the addresses never have pages at the same time.
void ExpertStore::take_host_memory() {
  const bool holds_all = copies_->in_host == 0 || copies_->in_host >= experts_;
  std::vector<HostTier::Layer> tiers;
  for (Layer& layer : layers_) {
    const ExpertRecords& records = layer.records;
    layer.host = &pool_.acquire(static_cast<size_t>(records.count) * records.bytes,
                                holds_all ? sync::SlotUse::weights : sync::SlotUse::device_local,
                                "all experts of layer " + std::to_string(records.layer));
    tiers.push_back({records, layer.host});
    if (!holds_all) {
      sync::Pool::use_small_pages(*layer.host);
      sync::Pool::discard(*layer.host);
      continue;
    }
    std::vector<ResidentExperts::Load> all;
    for (int32_t expert = 0; expert < records.count; ++expert) all.push_back({expert, expert});
    read(records, std::move(all), *layer.host);
  }
  if (holds_all) return;
  tier_ = std::make_unique<HostTier>(tiers, copies_->in_host,
                                     [this](const ExpertRecords& records, std::vector<ResidentExperts::Load> loads,
                                            const sync::Slot& to) { read(records, std::move(loads), to); });
  pool_.promise(tier_->bytes(), "experts in the host's memory (--host-budget)");
}

void ExpertStore::begin_with_first() {
  for (Layer& layer : layers_) {
    std::vector<int64_t> order(static_cast<size_t>(layer.records.count));
    std::iota(order.begin(), order.end(), 0);
    fill(layer, order);
  }
}

// Slots then have the experts that were chosen most. Without counts they keep those that they have.
void ExpertStore::hold_most_used(const RoutingCounts& counts) {
  if (counts.tokens == 0) return;
  for (size_t i = 0; i < counts.layers.size(); ++i)
    fill(layers_[static_cast<size_t>(index_of_.at(static_cast<size_t>(counts.layers[i])))],
         by_popularity(counts.counts[i]));
}

// order: all experts of the layer. The first ones get slots, and the host's memory gets those behind them.
void ExpertStore::fill(Layer& layer, std::span<const int64_t> order) {
  const auto slots = static_cast<size_t>(layer.residents.slots());
  for (int32_t slot = 0; slot < layer.residents.slots(); ++slot) layer.residents.clear(slot);
  std::vector<ResidentExperts::Load> loads;
  for (size_t slot = 0; slot < slots; ++slot)
    loads.push_back({static_cast<int32_t>(order[slot]), static_cast<int32_t>(slot)});
  copy(layer, loads);
  for (const auto& [expert, slot] : loads) layer.residents.put(expert, slot);
  if (!tier_) return;
  const auto behind = order.subspan(slots, std::min(order.size() - slots, static_cast<size_t>(tier_->places())));
  tier_->hold(index_of(layer), std::vector<int32_t>(behind.begin(), behind.end()), layer.residents.slot_of());
}

HotExperts ExpertStore::uses() const {
  HotExperts uses;
  for (const Layer& layer : layers_) {
    uses.layers.push_back(layer.records.layer);
    uses.uses.emplace_back(layer.residents.choices().begin(), layer.residents.choices().end());
  }
  return uses;
}

// The first experts of all layers come before the second ones, because every pass needs all layers.
void ExpertStore::begin_with(const HotExperts& earlier) {
  std::vector<std::vector<int64_t>> orders;
  std::vector<ExpertRecords> records;
  for (size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    layer.residents.expect(earlier.uses[i]);
    if (copies_) fill(layer, by_popularity(earlier.uses[i]));
    orders.push_back(by_popularity(earlier.uses[i]));
    records.push_back(layer.records);
  }
  if (copies_) return;
  std::vector<HotExpert> hot;
  for (size_t rank = 0; rank < static_cast<size_t>(slots_); ++rank)
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (rank >= static_cast<size_t>(layers_[i].residents.slots())) continue;
      const auto expert = static_cast<int32_t>(orders[i][rank]);
      if (earlier.uses[i][static_cast<size_t>(expert)] > 0) hot.push_back({i, expert});
    }
  hot_ = std::make_unique<HotLoading>(file_, std::move(records), std::move(hot), static_cast<HotTaker&>(*this),
                                      disk_bytes_per_second_ / 1e9);
}

bool ExpertStore::needs(const HotExpert& hot) {
  const std::scoped_lock lock(mutex_);
  const ResidentExperts& residents = layers_[hot.at].residents;
  return !residents.is_resident(hot.expert) && residents.empty_slot() >= 0;
}

// An empty slot belongs to nobody, so a pass may take it between two pieces of the copy. The copy then ends.
bool ExpertStore::take(const HotExpert& hot, std::span<const std::byte> record) {
  Layer& layer = layers_[hot.at];
  int32_t slot = -1;
  int64_t version = 0;
  for (size_t done = 0; done < record.size(); done += kPieceOfHot) {
    const std::scoped_lock lock(mutex_);
    if (done == 0) {
      slot = layer.residents.is_resident(hot.expert) ? -1 : layer.residents.empty_slot();
      version = layer.residents.version();
    }
    if (slot < 0 || layer.residents.version() != version) return false;
    const size_t bytes = std::min(kPieceOfHot, record.size() - done);
    std::memcpy(layer.memory->data() + static_cast<size_t>(slot) * record.size() + done, record.data() + done, bytes);
    if (done + bytes < record.size()) continue;
    layer.memory->changed(static_cast<size_t>(slot) * record.size(), record.size());
    layer.residents.put(hot.expert, slot);
  }
  return true;
}

// The experts of a layer by slot; -1: the slot is empty.
std::span<const int32_t> ExpertStore::in_slots(int64_t layer) const {
  return layers_[static_cast<size_t>(index_of_.at(static_cast<size_t>(layer)))].residents.in_slot();
}

// The landings of all layers are the same. Their places hold the experts of a layer that have no slot, in at most
// kMostCopyTurns turns, and at least as many as a few tokens choose. Text alternates between two landings. Two further
// landings have experts that are copied ahead of prompts: those of the next layer are copied while this one's are read.
void ExpertStore::make_lanes() {
  size_t record = 0;
  for (const Layer& layer : layers_) record = std::max(record, layer.records.bytes);
  const int64_t absent = experts_ - slots_;
  const int64_t places = std::min(absent, std::max((absent + kMostCopyTurns - 1) / kMostCopyTurns, kLeastPlaces));
  const int64_t turns = places == 0 ? 0 : std::max<int64_t>(2, (absent + places - 1) / places);
  for (int64_t t = 0; t < turns; ++t)
    landings_.push_back(&pool_.acquire(static_cast<size_t>(places) * record, sync::SlotUse::activations,
                                       "landing " + std::to_string(t) + " of experts"));
  std::array<sync::Slot*, 2> ahead{};
  for (size_t i = 0; turns > 0 && i < ahead.size(); ++i)
    landings_.push_back(ahead[i] = &pool_.acquire(static_cast<size_t>(places) * record, sync::SlotUse::activations,
                                                  "experts that are copied ahead, " + std::to_string(i)));
  for (sync::Slot* landing : landings_) landing->divide(record);
  landing_bytes_ = landings_.size() * static_cast<size_t>(places) * record;
  const double memory = static_cast<double>(record) / kFirstBytesPerSecond;
  const double link = copies_->gbps > 0 ? static_cast<double>(record) / (copies_->gbps * 1e9) : memory;
  const PolicyKind* const policy = copies_->policy == kStaticSlots ? nullptr : expert_policy(copies_->policy);
  if (copies_->policy != kStaticSlots && (policy == nullptr || policy->knows_future))
    throw Error("no policy of experts in an engine has this name", copies_->policy,
                "auto, mrs, lru, lfu, ema and static do");
  std::vector<LaneDecider::Layer> deciding;
  for (Layer& layer : layers_) {
    LayerRequests requests;
    requests.experts = layer.records.count;
    // The policies see the weights that the router gives, and all of them count.
    const PolicySettings settings{.top = layer.records.count, .slots = layer.residents.slots()};
    deciding.push_back({layer.records.layer, &layer.residents,
                        policy != nullptr ? policy->make(settings, requests) : nullptr, places});
  }
  const CostLine alone{memory, memory / kFirstTokensOfRead},
      slower{alone.fixed * copies_->host_slower, alone.per_token * copies_->host_slower};
  lanes_ = std::make_unique<LaneDecider>(
      std::move(deciding), LaneDecider::Costs{CostLaw(alone), CostLaw(slower), CostLaw({link, 0}), kFirstHandOver},
      tier_.get());
  size_t parity = 0;
  for (const Layer& layer : layers_) {
    MovingExperts& moving = moving_[static_cast<size_t>(layer.records.layer)];
    moving.lanes = lanes_.get();
    moving.count = layer.records.count, moving.places = places;
    moving.in_host = tier_ ? std::min(tier_->places(), moving.count) : moving.count;
    moving.inserts_misses = copies_->insert_misses;
    moving.host = {layer.host, 0};
    for (int64_t t = 0; t < turns; ++t) moving.landings.push_back({landings_[static_cast<size_t>(t)], 0});
    if (turns > 0) moving.ahead = {ahead[parity], 0};
    parity = 1 - parity;
  }
}

// Reads into the slots may still run, so they end before the pool takes the memory back.
ExpertStore::~ExpertStore() {
  hot_.reset();
  abandon_reading_ahead();
  for (const Layer& layer : layers_) {
    pool_.release(*layer.memory);
    if (tier_) sync::Pool::discard(*layer.host);
    if (layer.host != nullptr) pool_.release(*layer.host);
  }
  for (sync::Slot* landing : landings_) pool_.release(*landing);
}

// Reads ahead may be on their way into slots that go.
void ExpertStore::use_slots(int64_t slots) {
  TANDEM_CHECK(!copies_ && slots >= 1 && slots <= most_slots_, "slots that move");
  if (slots == slots_) return;
  abandon_reading_ahead();
  const std::scoped_lock lock(mutex_);
  for (Layer& layer : layers_) {
    MovingExperts& moving = moving_[static_cast<size_t>(layer.records.layer)];
    const int64_t own = std::min(slots, moving.slots);
    moving.given_back = moving.slots - own;
    layer.residents.use_slots(own);
    const size_t used = static_cast<size_t>(own) * moving.slot_bytes;
    if (slots < slots_) sync::Pool::discard(*layer.memory, used, layer.memory->size_bytes() - used);
  }
  (slots < slots_ ? changes_.given_back : changes_.taken_again) += std::abs(slots - slots_);
  ++changes_.version;
  slots_ = slots;
}

int64_t ExpertStore::evictions() const {
  int64_t sum = 0;
  for (const Layer& layer : layers_) sum += layer.residents.evictions();
  return sum;
}

// Brings the experts of one wave into slots before the products of that wave run. The first wave of a layer also counts
// which experts are there. A read that began ahead for this layer is ended first. Slots of a failed read
// count as empty.
void ExpertStore::fetch(const WaveRequest& request, std::span<int32_t> places) {
  const int64_t index = index_of_.at(static_cast<size_t>(request.layer));
  TANDEM_CHECK(index >= 0, "a layer with experts");
  Layer& layer = layers_[static_cast<size_t>(index)];
  const bool is_small = std::ssize(request.ids) / request.k <= kSmallBatch;
  Totals& totals = pass_is_text_.value_or(is_small) ? of_text_ : of_prompts_;
  const double start = now_seconds();
  if (hot_ && index == 0) hot_->hold();
  if (request.wave == 0) {
    abandon_reading_ahead();
    // Hits are counted before any wave moves experts, so they tell what the residents were worth for the whole layer.
    const std::scoped_lock lock(mutex_);
    totals.hits += layer.residents.ask(request.ids);
    totals.choices += std::ssize(request.ids);
  }
  // Residents already name the new experts here, although their bytes are still to come. A failure must
  // therefore undo it.
  const std::vector<ResidentExperts::Load> loads = begin_wave(layer, request.wave);
  try {
    if (ahead_.layer == &layer) end_reading_ahead();
    if (!loads.empty()) copies_ ? copy(layer, loads) : read(layer.records, loads, *layer.memory);
  } catch (...) {
    drop(layer, loads);
    throw;
  }
  totals.waited_seconds += now_seconds() - start;
  count(loads, layer, totals);
  for (size_t i = 0; i < places.size(); ++i) places[i] = layer.residents.place_of(request.ids[i]);
  if (!copies_ && ahead_.layer == nullptr) read_ahead(static_cast<size_t>(index), request, totals);
  if (hot_ && index + 1 == std::ssize(layers_) && !layer.residents.has_later_waves()) hot_->go_on();
}

std::vector<ResidentExperts::Load> ExpertStore::begin_wave(Layer& layer, int64_t wave) {
  const std::scoped_lock lock(mutex_);
  return layer.residents.begin_wave(wave);
}

void ExpertStore::drop(Layer& layer, std::span<const ResidentExperts::Load> loads) {
  const std::scoped_lock lock(mutex_);
  layer.residents.drop(loads);
}

// Reads ahead count when they begin, and for the kind of pass that asked for them.
void ExpertStore::count(std::span<const ResidentExperts::Load> loads, const Layer& layer, Totals& totals) {
  totals.loads += std::ssize(loads);
  totals.read_bytes += static_cast<uint64_t>(loads.size()) * layer.records.bytes;
}

// Behind the last wave the storage would rest until the next layer's router has chosen.
void ExpertStore::read_ahead(size_t index, const WaveRequest& request, Totals& totals) {
  Layer* of = &layers_[index];
  std::unique_lock lock(mutex_);
  std::vector<ResidentExperts::Load> loads = of->residents.begin_ahead();
  // A long prompt will ask for most of the next layer's experts too, so any of them are a safe guess. A short text
  // chooses few, so most guesses would be read for nothing.
  const bool asks_for_most = std::ssize(request.ids) >= kChoicesOfMostExperts * of->records.count;
  if (!of->residents.has_later_waves() && asks_for_most && index + 1 < layers_.size()) {
    of = &layers_[index + 1];
    loads = of->residents.begin_filling();
  }
  lock.unlock();
  if (loads.empty()) return;
  count(loads, *of, totals);
  ahead_ = {of, loads};
  start_reading(of->records, std::move(loads), *of->memory);
}

// A pass that failed may have left reads behind. If they fail too, who needs those experts will meet the reason.
void ExpertStore::abandon_reading_ahead() {
  try {
    end_reading_ahead();
  } catch (const Error&) {
    return;
  }
}

// The note of what is read is taken away first, so that a failed read is not waited for again.
void ExpertStore::end_reading_ahead() {
  const Ahead ahead = std::exchange(ahead_, {});
  try {
    wait_for_reads();
  } catch (...) {
    if (ahead.layer != nullptr) drop(*ahead.layer, ahead.loads);
    throw;
  }
}

// Returns while blocks are read in the background. Each record is checked against its checksum when it has arrived,
// beside the reads of the others.
void ExpertStore::start_reading(const ExpertRecords& records, std::vector<ResidentExperts::Load> loads,
                                const sync::Slot& to) {
  const size_t bytes = records.bytes;
  std::vector<sync::BlockRead> blocks;
  for (const auto& [expert, slot] : loads)
    blocks.push_back({file_.offset_of(records, expert), to.data() + static_cast<size_t>(slot) * bytes, bytes});
  // A modelled disk serves its reads one after another, so a read ends behind all earlier ones.
  if (disk_bytes_per_second_ > 0)
    reads_end_ =
        std::max(reads_end_, now_seconds()) + static_cast<double>(blocks.size() * bytes) / disk_bytes_per_second_;
  if (records_reads_) {
    constexpr size_t kMostReads = 100'000;
    if (file_reads_.size() == kMostReads) file_reads_.pop_front();
    file_reads_.push_back({records.layer, std::ssize(blocks), blocks.size() * bytes, now_seconds(), 0});
  }
  reader_.start(std::move(blocks), [this, &to, bytes, number = records.layer, loads = std::move(loads)](size_t i) {
    const size_t offset = static_cast<size_t>(loads[i].slot) * bytes;
    arrived_.store(now_seconds(), std::memory_order_relaxed);
    if (!is_intact({to.data() + offset, bytes}, number, loads[i].expert))
      throw Error("an expert's weights are damaged",
                  file_.path() + ": layer " + std::to_string(number) + ", expert " + std::to_string(loads[i].expert),
                  "Remove the file; it is made again");
    to.changed(offset, bytes);
  });
}

void ExpertStore::read(const ExpertRecords& records, std::vector<ResidentExperts::Load> loads, const sync::Slot& to) {
  start_reading(records, std::move(loads), to);
  wait_for_reads();
}

// A change of the file is the better reason for a failure.
void ExpertStore::wait_for_reads() {
  try {
    reader_.wait();
    sync::wait_until(reads_end_);
    end_recorded_read();
  } catch (const Error&) {
    file_.require_unchanged();
    throw;
  }
}

// A read ahead ends before it is waited for. A disk that is slowed down is busy until the end of the wait.
void ExpertStore::end_recorded_read() {
  if (file_reads_.empty() || file_reads_.back().end > 0) return;
  FileRead& read = file_reads_.back();
  read.end = std::max({read.start, arrived_.load(std::memory_order_relaxed), reads_end_});
}

// The host waits for these copies: plans without lanes fetch before they compute. Experts that the host's memory does
// not hold are read into their slots, and the host's memory stays as it is.
void ExpertStore::copy(const Layer& layer, std::span<const ResidentExperts::Load> loads) {
  const double start = now_seconds();
  const size_t bytes = layer.records.bytes;
  std::vector<ResidentExperts::Load> absent, held;
  for (const ResidentExperts::Load& load : loads)
    (tier_ && !tier_->holds(index_of(layer), load.expert) ? absent : held).push_back(load);
  if (!absent.empty()) start_reading(layer.records, std::move(absent), *layer.memory);
  for (const auto& [expert, slot] : held)
    std::memcpy(layer.memory->data() + static_cast<size_t>(slot) * bytes,
                layer.host->data() + static_cast<size_t>(expert) * bytes, bytes);
  for (const ResidentExperts::Load& load : held) layer.memory->changed(static_cast<size_t>(load.slot) * bytes, bytes);
  wait_for_reads();
  if (copies_->gbps > 0) sync::wait_until(start + static_cast<double>(loads.size() * bytes) / (copies_->gbps * 1e9));
}

std::vector<ExpertStore::FileRead> ExpertStore::take_reads() {
  const std::deque<FileRead> reads = std::exchange(file_reads_, {});
  return {reads.begin(), reads.end()};
}

}  // namespace tandem
