// The loading of a model's weights, in steps, so that other things can be done beside the packing.
//
// Contract: the constructor reads the configuration and checks the whole file, and takes no memory of the pool. Then
// start() gives every weight its place and packs on threads of its own, and finish() packs with as many threads as it
// is told, waits and hands the model over. Errors: those of load_model(). Dropped before finish(), it stops the
// packing; the places stay the pool's. Threads: one, the owner's. Borrows file and pool. After take() there is nothing
// to pack.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/model/gguf.h"
#include "engine/model/packed_file.h"
#include "engine/model/weights.h"
#include "sync/pool.h"

namespace tandem {

enum class PackedUse { mapped, read };  // PackedFile::map() or read()

class ModelLoading {
 public:
  // most_layers: of the model's first layers; 0: all. (A few of them are a model that says nothing, on which the same
  // kernels run.)
  ModelLoading(const GgufFile& file, sync::Pool& pool, int64_t most_layers = 0);
  ~ModelLoading();
  ModelLoading(const ModelLoading&) = delete;
  ModelLoading& operator=(const ModelLoading&) = delete;

  const ModelConfig& config() const;
  // Packs on so many threads from now on, none is allowed; the first one calls `before` before it packs, whose
  // exception finish() throws.
  void start(int threads, std::function<void()> before = {});
  // More threads pack from now on, so that there are this many with those of start().
  void widen(int threads);
  // Of the slots that hold the packed weights, in their order; known before they have places.
  std::vector<size_t> slot_bytes() const;
  // The weights' places are in this file of packed ones, whose slots have slot_bytes(); not after start().
  void take(PackedFile& packed, PackedUse use);
  // To be called once.
  Model finish(int threads, const LoadProgress& progress = {});

 private:
  class State;
  std::unique_ptr<State> state_;
};

// All of it at once: packs every weight of the file into pool slots with `threads` threads. Error: a missing or
// misshapen tensor, an unknown architecture.
Model load_model(const GgufFile& file, sync::Pool& pool, int threads, const LoadProgress& progress = {});

}  // namespace tandem
