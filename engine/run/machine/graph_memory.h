// S1: the NPU's memory for graphs (--npu-memory). A block of layers has a prefill graph and a decode graph, each with
// packed weights of its own (engine/plan/graph_blocks.h). A loading thread copies a graph's weights from the packed
// file while devices work.
//
// Budget: the graph of the output matrix is always here. One graph of every block has room too, and so has the largest
// one again, for a graph on its way. The first blocks keep both graphs, as far as the rest of the budget allows.
//
// Contract
//   One load at a time: start() begins it, take() ends it. The load's graph counts from start() on. drop() gives a
//   graph's pages back. The caller keeps to the rules above, so peak_bytes never exceeds the budget.
//   Places are fixed: a prepared program stays right when its graph is dropped and loaded again.
//   Errors: a budget below least_bytes(); a failed load, which take() throws. The graph is then absent, and the caller
//   may load it again.
//   Threads: one, the orchestrator's. Ownership: borrows the pool, the file and the weights.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/packed_file.h"
#include "engine/model/weights.h"
#include "engine/plan/graph_blocks.h"
#include "engine/run/pass/timeline.h"
#include "sync/pool.h"
#include "sync/worker.h"

namespace tandem {

class GraphMemory {
 public:
  struct Totals {
    uint64_t budget_bytes = 0, bytes = 0, peak_bytes = 0;  // bytes: of all graphs that are here or on their way
    int64_t loads = 0;                                     // that have ended well
    uint64_t loaded_bytes = 0;
    double load_seconds = 0;    // from start() to the end of the copy
    double waited_seconds = 0;  // of the orchestrator, for graphs that were not here
  };

  GraphMemory(sync::Pool& pool, const PackedFile& file, const ModelWeights& weights, uint64_t budget_bytes);
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  std::span<const int64_t> block_begins() const { return begins_; }  // by graph_blocks()
  size_t blocks() const { return blocks_.size(); }
  bool keeps_both(size_t block) const { return block < kept_; }
  Operand place(const Operand& weight, GraphKind kind) const;  // as PlaceWeight

  bool holds(GraphId id) const;
  bool is_loading() const { return loading_.has_value(); }
  void start(GraphId id);
  std::optional<GraphId> take();  // the graph whose load has ended; nothing: no load has ended
  void wait();                    // until the load has ended; counts as waited for
  void drop(GraphId id);
  double seconds_to_load(size_t block) const;  // expected, by the rate of the last loads

  // For measurements: every load reads storage, and not the system's copy of the file.
  void read_storage(bool yes) { reads_storage_ = yes; }
  // For measurements: no load is faster than this, as if storage were slower. The loading thread sleeps meanwhile.
  void limit_rate(double bytes_a_second) { most_rate_ = bytes_a_second; }
  std::vector<sync::Slot*> slots() const;  // of all graphs; pages of absent graphs are not in memory
  const Totals& totals() const { return totals_; }
  // Loads and waits that have ended since the last call, for a timeline.
  std::vector<Span> take_spans();

 private:
  struct Graph {
    sync::Slot* slot = nullptr;
    bool is_here = false;
  };
  struct Block {
    size_t first_slot = 0, slots = 0;  // of the model's weights
    size_t bytes = 0;
    std::array<Graph, 2> graphs;  // by GraphKind
  };
  Graph& graph(GraphId id) { return blocks_[id.block].graphs[static_cast<size_t>(id.kind)]; }
  const Graph& graph(GraphId id) const { return blocks_[id.block].graphs[static_cast<size_t>(id.kind)]; }
  sync::Slot& acquire(size_t bytes, std::string label);
  uint64_t bytes_for(size_t kept) const;
  void choose_kept(uint64_t budget_bytes);
  void load_output();
  void charge(uint64_t bytes);
  std::string name_of(GraphId id) const;
  void copy(const Block& block, std::byte* to) noexcept;
  void learn_rate(uint64_t bytes, double seconds);

  sync::Pool& pool_;
  const PackedFile& file_;
  const ModelWeights& weights_;
  const std::vector<int64_t> begins_;
  std::vector<Block> blocks_;
  Block output_;     // has one graph
  size_t kept_ = 0;  // blocks that keep both graphs
  double seconds_a_byte_ = 0;
  Totals totals_;
  std::optional<GraphId> loading_;
  double started_ = 0;          // when this load began
  bool reads_storage_ = false;  // changes only while nothing is loaded
  double most_rate_ = 0;        // the same; bytes a second, 0: as fast as it can
  std::vector<Span> spans_;

  struct Ended {
    bool yes = false;
    double end = 0;
    std::exception_ptr failure;
  };
  std::mutex mutex_;
  std::condition_variable ended_changed_;
  Ended ended_;          // guarded by the mutex
  sync::Worker loader_;  // last: it uses everything above, and ends first
};

inline constexpr const char* kLoadTrack = "loads of graphs";
inline constexpr const char* kLoadWaitTrack = "waits for graphs";

}  // namespace tandem
