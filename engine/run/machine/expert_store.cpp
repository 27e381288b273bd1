#include "engine/run/machine/expert_store.h"

#include <algorithm>
#include <string>

#include "engine/device/operators/matmul.h"
#include "engine/tensor/routing.h"
#include "sync/affinity.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
// Slots are of activations, because they are written while passes run.
ExpertStore::ExpertStore(sync::Pool& pool, const PackedFile& file, std::span<const ExpertRecords> records,
                         int64_t layers, int64_t slots)
    : pool_(pool),
      file_(file),
      slots_(slots),
      index_of_(static_cast<size_t>(layers), -1),
      moving_(static_cast<size_t>(layers)),
      reader_(file.descriptor(), file.path(), sync::kBlockReads, usable_cores()) {
  for (const ExpertRecords& each : records) {
    const int64_t own = std::min(slots, each.count);
    const size_t bytes = static_cast<size_t>(own) * each.bytes;
    sync::Slot& memory =
        pool_.acquire(bytes, sync::SlotUse::activations, "experts of layer " + std::to_string(each.layer));
    index_of_[static_cast<size_t>(each.layer)] = std::ssize(layers_);
    layers_.push_back({each, ResidentExperts(each.count, own), &memory});
    moving_[static_cast<size_t>(each.layer)] = {own, each.bytes, {&memory, 0}, this};
    experts_ = std::max(experts_, each.count);
    bytes_ += bytes;
  }
}

ExpertStore::~ExpertStore() {
  for (const Layer& layer : layers_) pool_.release(*layer.memory);
}

int64_t ExpertStore::evictions() const {
  int64_t sum = 0;
  for (const Layer& layer : layers_) sum += layer.residents.evictions();
  return sum;
}

void ExpertStore::fetch(const WaveRequest& request, std::span<int32_t> places) {
  const int64_t index = index_of_.at(static_cast<size_t>(request.layer));
  TANDEM_CHECK(index >= 0, "a layer with experts");
  Layer& layer = layers_[static_cast<size_t>(index)];
  Totals& totals = std::ssize(request.ids) / request.k <= kSmallBatch ? of_text_ : of_prompts_;
  if (request.wave == 0) {
    totals.hits += layer.residents.ask(request.ids);
    totals.choices += std::ssize(request.ids);
  }
  const std::vector<ResidentExperts::Load> loads = layer.residents.begin_wave(request.wave);
  if (!loads.empty()) {
    const double start = now_seconds();
    try {
      load(layer, loads);
    } catch (...) {
      layer.residents.drop(loads);
      throw;
    }
    totals.waited_seconds += now_seconds() - start;
    totals.loads += std::ssize(loads);
    totals.read_bytes += static_cast<uint64_t>(loads.size()) * layer.records.bytes;
  }
  for (size_t i = 0; i < places.size(); ++i) places[i] = layer.residents.place_of(request.ids[i]);
}

// A change of the file is the better reason for a failure.
void ExpertStore::load(const Layer& layer, std::span<const ResidentExperts::Load> loads) {
  const size_t bytes = layer.records.bytes;
  std::vector<sync::BlockRead> blocks;
  for (const auto& [expert, slot] : loads)
    blocks.push_back(
        {file_.offset_of(layer.records, expert), layer.memory->data() + static_cast<size_t>(slot) * bytes, bytes});
  try {
    reader_.read(blocks, [&](size_t i) {
      if (!is_intact({blocks[i].to, bytes}, layer.records.layer, loads[i].expert))
        throw Error("an expert's weights are damaged",
                    file_.path() + ": layer " + std::to_string(layer.records.layer) + ", expert " +
                        std::to_string(loads[i].expert),
                    "Remove the file; it is made again");
    });
  } catch (const Error&) {
    file_.require_unchanged();
    throw;
  }
}

}  // namespace tandem
