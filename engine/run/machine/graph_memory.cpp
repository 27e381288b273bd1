#include "engine/run/machine/graph_memory.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "sync/affinity.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;
constexpr double kNewestLoad = 0.5;  // its weight in the mean rate

// The index of the slot that has the weight. A weight of another model has none.
std::optional<size_t> slot_of(const ModelWeights& weights, const Operand& weight) {
  const auto found = std::ranges::find(weights.slots, weight.slot);
  if (!weight || found == weights.slots.end()) return std::nullopt;
  return static_cast<size_t>(found - weights.slots.begin());
}

std::string mebibytes_rounded_up(uint64_t bytes) { return std::to_string((bytes + kMebibyte - 1) / kMebibyte); }

}  // namespace

// The model's slots are the embedding, the layers and the output. Slots of graphs are device-local, because pages of
// such slots are in memory only when they have been written.
GraphMemory::GraphMemory(sync::Pool& pool, const PackedFile& file, const ModelWeights& weights, uint64_t budget_bytes)
    : pool_(pool),
      file_(file),
      weights_(weights),
      begins_(graph_blocks(std::ssize(weights.layers))),
      loader_(usable_cores()) {
  for (size_t b = 0; b + 1 < begins_.size(); ++b) {
    Block block;
    block.first_slot = static_cast<size_t>(begins_[b]) + 1;
    block.slots = static_cast<size_t>(begins_[b + 1] - begins_[b]);
    block.bytes = file.bytes_of_slots(block.first_slot, block.slots);
    blocks_.push_back(block);
  }
  output_.first_slot = slot_of(weights, weights.output.parts.front().matrix.data).value();
  output_.slots = 1;
  output_.bytes = file.bytes_of_slots(output_.first_slot, 1);
  choose_kept(budget_bytes);
  pool.promise(bytes_for(kept_), "the NPU's graphs (--npu-memory)");
  load_output();
  for (size_t b = 0; b < blocks_.size(); ++b)
    for (const GraphKind kind : {GraphKind::prefill, GraphKind::decode})
      graph({b, kind}).slot = &acquire(blocks_[b].bytes, name_of({b, kind}));
}

GraphMemory::~GraphMemory() {
  if (loading_) wait();
  for (sync::Slot* slot : slots()) {
    sync::Pool::discard(*slot);
    pool_.release(*slot);
  }
}

// A slot whose memory somebody else used before may have pages.
sync::Slot& GraphMemory::acquire(size_t bytes, std::string label) {
  sync::Slot& slot = pool_.acquire(bytes, sync::SlotUse::device_local, std::move(label));
  sync::Pool::discard(slot);
  return slot;
}

// The bytes that suffice if so many blocks keep both graphs. The others need room for one more, the largest.
uint64_t GraphMemory::bytes_for(size_t kept) const {
  uint64_t bytes = output_.bytes, largest = 0;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    bytes += blocks_[b].bytes * (b < kept ? 2 : 1);
    if (b >= kept) largest = std::max<uint64_t>(largest, blocks_[b].bytes);
  }
  return bytes + largest;
}

// Blocks keep both graphs from the first one on, as many as the budget has room for. The last blocks are switched first
// (P1), so they are the ones whose graphs are loaded.
void GraphMemory::choose_kept(uint64_t budget_bytes) {
  if (budget_bytes < bytes_for(0))
    throw Error("the NPU's graphs do not fit its memory", "--npu-memory " + std::to_string(budget_bytes / kMebibyte),
                "One graph of each block of layers and the one that is loaded need at least --npu-memory " +
                    mebibytes_rounded_up(bytes_for(0)));
  totals_.budget_bytes = budget_bytes;
  kept_ = blocks_.size();
  while (bytes_for(kept_) > budget_bytes) --kept_;
}

// Its time is the first sample of the rate.
void GraphMemory::load_output() {
  Graph& only = output_.graphs[0];
  only.slot = &acquire(output_.bytes, "graph of the output");
  charge(output_.bytes);
  const double start = now_seconds();
  file_.copy_slots(output_.first_slot, 1, only.slot->data());
  learn_rate(output_.bytes, now_seconds() - start);
  only.is_here = true;
}

// Pages count from the beginning of a load, because they are written from then on.
void GraphMemory::charge(uint64_t bytes) {
  totals_.bytes += bytes;
  totals_.peak_bytes = std::max(totals_.peak_bytes, totals_.bytes);
  TANDEM_CHECK(totals_.bytes <= totals_.budget_bytes, "graphs keep to the NPU's memory");
}

std::string GraphMemory::name_of(GraphId id) const {
  return std::string(to_string(id.kind)) + " graph of layers " + std::to_string(begins_[id.block]) + " to " +
         std::to_string(begins_[id.block + 1] - 1);
}

// A block's slots lie in its graph as in the file.
Operand GraphMemory::place(const Operand& weight, GraphKind kind) const {
  const std::optional<size_t> slot = slot_of(weights_, weight);
  if (!slot) return weight;
  if (*slot == output_.first_slot) return {output_.graphs[0].slot, weight.offset_bytes};
  for (const Block& block : blocks_) {
    if (*slot < block.first_slot || *slot >= block.first_slot + block.slots) continue;
    const size_t before = file_.bytes_of_slots(block.first_slot, *slot - block.first_slot);
    return {block.graphs[static_cast<size_t>(kind)].slot, before + weight.offset_bytes};
  }
  return weight;
}

std::vector<sync::Slot*> GraphMemory::slots() const {
  std::vector<sync::Slot*> all = {output_.graphs[0].slot};
  for (const Block& block : blocks_)
    for (const Graph& each : block.graphs) all.push_back(each.slot);
  return all;
}

bool GraphMemory::holds(GraphId id) const { return graph(id).is_here; }

// The load's bytes are charged before it begins.
void GraphMemory::start(GraphId id) {
  TANDEM_CHECK(!loading_ && !holds(id), "one load at a time, of a graph that is not here");
  const Block& block = blocks_[id.block];
  charge(block.bytes);
  loading_ = id;
  ended_ = {};
  started_ = now_seconds();
  loader_.push([this, &block, to = graph(id).slot->data()] { copy(block, to); });
}

// On the loading thread.
void GraphMemory::copy(const Block& block, std::byte* to) noexcept {
  Ended ended{true, 0, nullptr};
  try {
    file_.copy_slots(block.first_slot, block.slots, to);
    // For measurements, the system's copy of the file goes, so the next load reads storage again.
    if (reads_storage_) file_.forget_slots(block.first_slot, block.slots);
    if (most_rate_ > 0) {
      const double rest = started_ + static_cast<double>(block.bytes) / most_rate_ - now_seconds();
      std::this_thread::sleep_for(std::chrono::duration<double>(std::max(rest, 0.0)));
    }
  } catch (...) {
    ended.failure = std::current_exception();
  }
  ended.end = now_seconds();
  {
    const std::lock_guard lock(mutex_);
    ended_ = std::move(ended);
  }
  ended_changed_.notify_all();
}

// Takes over a load that the loading thread has ended. A failed one gives its memory back, and its exception is thrown
// here, on the thread that runs passes.
std::optional<GraphId> GraphMemory::take() {
  if (!loading_) return std::nullopt;
  Ended ended;
  {
    const std::lock_guard lock(mutex_);
    if (!ended_.yes) return std::nullopt;
    ended = std::exchange(ended_, {});
  }
  const GraphId id = *std::exchange(loading_, std::nullopt);
  if (ended.failure) {
    graph(id).is_here = true;
    drop(id);
    std::rethrow_exception(ended.failure);
  }
  const auto bytes = static_cast<uint64_t>(blocks_[id.block].bytes);
  graph(id).is_here = true;
  ++totals_.loads;
  totals_.loaded_bytes += bytes;
  totals_.load_seconds += ended.end - started_;
  learn_rate(bytes, ended.end - started_);
  spans_.push_back({kLoadTrack, name_of(id), started_, ended.end, static_cast<double>(bytes)});
  return id;
}

void GraphMemory::wait() {
  TANDEM_CHECK(loading_.has_value(), "a load that somebody waits for has begun");
  const double start = now_seconds();
  {
    std::unique_lock lock(mutex_);
    ended_changed_.wait(lock, [this] { return ended_.yes; });
  }
  const double end = now_seconds();
  totals_.waited_seconds += end - start;
  spans_.push_back({kLoadWaitTrack, "for the " + name_of(*loading_), start, end});
}

// The pages go back to the system. The slot's address stays, so programs stay right.
void GraphMemory::drop(GraphId id) {
  Graph& gone = graph(id);
  TANDEM_CHECK(gone.is_here, "a graph that is dropped is here");
  gone.is_here = false;
  totals_.bytes -= blocks_[id.block].bytes;
  sync::Pool::discard(*gone.slot);
}

// The first load sets the rate, and later ones count half.
void GraphMemory::learn_rate(uint64_t bytes, double seconds) {
  const double newest = seconds / static_cast<double>(bytes);
  seconds_a_byte_ += (seconds_a_byte_ > 0 ? kNewestLoad : 1) * (newest - seconds_a_byte_);
}

double GraphMemory::seconds_to_load(size_t block) const {
  return static_cast<double>(blocks_[block].bytes) * seconds_a_byte_;
}

std::vector<Span> GraphMemory::take_spans() { return std::exchange(spans_, {}); }

}  // namespace tandem
