// The loading of a model's weights, in steps, so that other things can be done beside the packing.
//
// Contract: the constructor reads the configuration and checks the whole file, and takes no memory of the pool. Then
// start() gives every weight its place and packs on threads of its own, and finish() packs with as many threads as it
// is told, waits and hands the model over. Errors: those of load_model(). Dropped before finish(), it stops the
// packing; the places stay the pool's. Threads: one, the owner's. Borrows file and pool.
#pragma once

#include <functional>
#include <memory>

#include "engine/model/gguf.h"
#include "engine/model/weights.h"
#include "sync/pool.h"

namespace tandem {

class ModelLoading {
 public:
  ModelLoading(const GgufFile& file, sync::Pool& pool);
  ~ModelLoading();
  ModelLoading(const ModelLoading&) = delete;
  ModelLoading& operator=(const ModelLoading&) = delete;

  const ModelConfig& config() const;
  // Packs on so many threads from now on, none is allowed; the first one calls `before` before it packs, whose
  // exception finish() throws.
  void start(int threads, std::function<void()> before = {});
  // To be called once.
  Model finish(int threads, const LoadProgress& progress = {});

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem
