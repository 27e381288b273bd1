#include "engine/plan/graph_switch.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sync/error.h"

namespace tandem {
namespace {

constexpr int64_t kFewChunks = 32;  // schedules of so many cost next to nothing

int64_t sum(std::span<const int64_t> times) { return std::reduce(times.begin(), times.end(), int64_t{0}); }

void check(const GraphSwitchTimes& times) {
  TANDEM_CHECK(times.chunks > 0 && times.blocks() > 0, "a prompt of chunks and a model of blocks");
  TANDEM_CHECK(times.decode.size() == times.prefill.size() && times.load.size() == times.prefill.size(),
               "three times of each block");
}

// The executions of a prompt, one block of one chunk after the other, while blocks become switched one by one, from the
// last one on.
class Prefill {
 public:
  explicit Prefill(const GraphSwitchTimes& times) : times_(times), unswitched_(times.blocks()) {}

  int64_t left() const { return times_.chunks * times_.blocks() - next_; }
  int64_t chunk() const { return next_ / times_.blocks(); }
  int64_t now() const { return now_; }
  int64_t unswitched() const { return unswitched_; }  // blocks 0 to unswitched() - 1
  void switch_last() { --unswitched_; }
  // Runs one execution on the block's present graph. Returns its time.
  int64_t run() {
    const auto block = static_cast<size_t>(next_++ % times_.blocks());
    const int64_t time = (static_cast<int64_t>(block) < unswitched_ ? times_.prefill : times_.decode)[block];
    now_ += time;
    return time;
  }
  bool at_chunk_end() const { return next_ % times_.blocks() == 0; }

 private:
  const GraphSwitchTimes& times_;
  int64_t unswitched_, next_ = 0, now_ = 0;
};

}  // namespace

const char* to_string(SwitchWay way) {
  switch (way) {
    case SwitchWay::progressive:
      return "progressive";
    case SwitchWay::synchronous:
      return "synchronous";
    case SwitchWay::asynchronous:
      return "asynchronous";
  }
  return "";
}

// A round is decided one execution at a time: it goes on until its executions have taken the time of the load.
SwitchSchedule switch_rounds(const GraphSwitchTimes& times, int64_t first_chunk) {
  check(times);
  SwitchSchedule schedule;
  schedule.first_chunk = first_chunk;
  Prefill prefill(times);
  // The load's part that is hidden carries over from execution to execution within a round.
  int64_t hidden = 0;  // of the load of the last block that is not switched: what ran beside it
  SwitchRound round;
  const auto load_of_last = [&] { return times.load[static_cast<size_t>(prefill.unswitched() - 1)]; };
  while (prefill.left() > 0) {
    const bool loads = prefill.chunk() >= first_chunk && prefill.unswitched() > 0;
    if (loads && round.executions == 0) round = {prefill.chunk(), prefill.unswitched() - 1, 0};
    const int64_t time = prefill.run();
    if (loads) {
      ++round.executions;
      hidden += time;
      if (hidden >= load_of_last()) {
        schedule.rounds.push_back(round);
        schedule.switch_end = prefill.now();
        prefill.switch_last();
        hidden = round.executions = 0;
      }
    }
    if (prefill.at_chunk_end()) schedule.switched.push_back(times.blocks() - prefill.unswitched());
  }
  schedule.prefill_end = prefill.now();
  // Loads that did not end beside the prefill follow it one after the other.
  const auto exposed = std::span(times.load).first(static_cast<size_t>(prefill.unswitched()));
  if (!exposed.empty()) schedule.switch_end = schedule.prefill_end + sum(exposed) - hidden;
  return schedule;
}

// P4: each first chunk is tried from the last one back, and an earlier one must be strictly better.
SwitchSchedule progressive_schedule(const GraphSwitchTimes& times) {
  check(times);
  SwitchSchedule best = switch_rounds(times, times.chunks - 1);
  for (int64_t first = times.chunks - 1; first-- > 0;) {
    SwitchSchedule earlier = switch_rounds(times, first);
    if (earlier.end() < best.end()) best = std::move(earlier);
  }
  return best;
}

// P5: the prompt runs on prefill graphs, and all loads follow.
int64_t synchronous_end(const GraphSwitchTimes& times) {
  check(times);
  return times.chunks * sum(times.prefill) + sum(times.load);
}

// P5: a block's load begins behind its last execution and behind the load before it.
int64_t asynchronous_end(const GraphSwitchTimes& times) {
  check(times);
  int64_t computed = (times.chunks - 1) * sum(times.prefill), loaded = 0;
  for (size_t block = 0; block < times.prefill.size(); ++block) {
    computed += times.prefill[block];
    loaded = std::max(loaded, computed) + times.load[block];
  }
  return loaded;
}

// P6: the order of the enumeration decides between equal ways.
SwitchWay best_way(const GraphSwitchTimes& times, const SwitchSchedule& progressive) {
  const int64_t synchronous = synchronous_end(times), asynchronous = asynchronous_end(times);
  if (progressive.end() <= std::min(synchronous, asynchronous)) return SwitchWay::progressive;
  return synchronous <= asynchronous ? SwitchWay::synchronous : SwitchWay::asynchronous;
}

// A round's executions take less than its load and one execution more. So twice the time of all loads is more than all
// rounds take, except for very short loads, which few chunks allow for. Without this bound a prompt of hundreds of
// chunks would cost seconds of schedules.
std::optional<SwitchWay> way_that_begins(const GraphSwitchTimes& times, std::optional<SwitchWay> asked) {
  check(times);
  const int64_t chunk = std::max<int64_t>(std::min(sum(times.prefill), sum(times.decode)), 1);
  if (times.chunks > kFewChunks && times.chunks > 2 * sum(times.load) / chunk) return std::nullopt;
  const SwitchSchedule progressive = progressive_schedule(times);
  const SwitchWay way = asked.value_or(best_way(times, progressive));
  const bool begins = way == SwitchWay::progressive ? progressive.first_chunk == 0 : times.chunks == 1;
  return begins ? std::optional(way) : std::nullopt;
}

}  // namespace tandem
