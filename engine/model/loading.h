// Loads a model's weights in steps, so that callers can do other work while the weights are packed.
//
// Contract: the constructor reads the configuration and checks the whole file; it takes no memory of the pool. start()
// gives every weight its place and packs on threads of its own. finish() packs with as many threads as the caller
// names, waits, and returns the model. take() replaces the packing.
// Errors: those of load_model(). An object that is destroyed before finish() stops the packing; the slots stay in the
// pool. Threads: one, the owner's. Borrows file and pool.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/model/gguf.h"
#include "engine/model/packed_file.h"
#include "engine/model/weights.h"
#include "sync/pool.h"

namespace tandem {

enum class PackedUse { mapped, read };  // PackedFile::map() or read()
// Records that are packed at once. Packing needs this memory, or that of the largest slot without its records.
inline constexpr size_t kPieceBytes = size_t{64} << 20;
using TakePiece = std::function<void(std::span<const std::byte> bytes)>;

class ModelLoading {
 public:
  // most_layers: how many of the first layers are loaded; 0: all. A model of a few layers computes nothing meaningful,
  // but it runs the same kernels.
  ModelLoading(const GgufFile& file, sync::Pool& pool, int64_t most_layers = 0);
  ~ModelLoading();
  ModelLoading(const ModelLoading&) = delete;
  ModelLoading& operator=(const ModelLoading&) = delete;

  const ModelConfig& config() const;
  // Gives the weights their places and packs on `threads` threads from now on; 0 is allowed. The first thread calls
  // `before` before it packs. finish() throws an exception of `before`.
  void start(int threads, std::function<void()> before = {});
  // Adds packing threads until there are `threads`, those of start() included.
  void widen(int threads);
  // Sizes of the slots for the packed weights, in their order. They are known before the slots exist.
  std::vector<size_t> slot_bytes() const;
  // The experts' records in these slots, by layer; known before the slots exist too.
  const std::vector<ExpertRecords>& records() const;
  // Packs on `threads` threads, piece by piece, and gives the pieces to `take` in the order of the packed file. Each is
  // a multiple of 4096 bytes. Memory: one piece, a slot without its records, or records of at most `most_bytes`. Not
  // after start(), and before take(), if at all.
  void pack_pieces(int threads, size_t most_bytes, const LoadProgress& progress, const TakePiece& take);
  // Uses the slots of a packed file, whose sizes are slot_bytes(), instead of packing. Not after start(). moving: one
  // for each layer, where the experts of all layers move; their records are not loaded.
  void take(PackedFile& packed, PackedUse use, std::span<const MovingExperts> moving = {});
  // Called once.
  Model finish(int threads, const LoadProgress& progress = {});

 private:
  class State;
  std::unique_ptr<State> state_;
};

// Loads at once: packs every weight of the file into pool slots with `threads` threads. Error: a missing or misshapen
// tensor, an unknown architecture.
Model load_model(const GgufFile& file, sync::Pool& pool, int threads, const LoadProgress& progress = {});

}  // namespace tandem
