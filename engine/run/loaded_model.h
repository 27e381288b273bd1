// A model in a machine's memory: its configuration, weights and tokenizer.
//
// Several may be loaded onto one machine: a small one that drafts beside the one that verifies. What texts do with them
// is in engine/run/engine.h.
//
// Contract: the constructor opens the machine's devices, where nobody has, while the weights are read and packed on the
// other cores; afterwards the calling thread is on the orchestrator's core. Errors: those of load_model() and of
// Machine::open_devices(). A model file that changes while it is read is an Error of the constructor; packed weights
// that are mapped may change later: require_weights() throws then, and costs one system call for them, nothing for
// others. Who runs passes calls it before their results are handed on. The destructor keeps packed weights for a next
// start, where that was asked for, and gives their memory back. Threads: the orchestrator's. Ownership: shares the
// machine; engines share the model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/model/gguf.h"
#include "engine/model/packed_file.h"
#include "engine/model/tokenizer.h"
#include "engine/model/weights.h"
#include "engine/run/machine.h"
#include "engine/run/pack_cache.h"

namespace tandem {

struct ModelOptions {
  std::string model_path;
  std::string pack_cache_folder;                   // keeps packed weights for the next start; empty: nowhere
  uint64_t pack_cache_bytes = uint64_t{32} << 30;  // most that the folder holds; the oldest are removed
  bool only_layers_of_every_kind = false;          // as few as need all of the model's kernels: to compile them
  LoadProgress load_progress;
};

class LoadedModel {
 public:
  LoadedModel(std::shared_ptr<Machine> machine, const ModelOptions& options);
  // file: that of options.model_path, where it is open already.
  LoadedModel(std::shared_ptr<Machine> machine, const ModelOptions& options, GgufFile file);
  ~LoadedModel();
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  const Model& model() const { return model_; }
  const ModelConfig& config() const { return model_.config; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const GgufFile& file() const { return file_; }
  void require_weights() const {
    if (packed_) packed_->require_unchanged();
  }
  size_t weight_bytes() const { return model_.weights.bytes; }
  const std::shared_ptr<Machine>& machine() const { return machine_; }

 private:
  void load(const ModelOptions& options);

  const std::shared_ptr<Machine> machine_;
  const GgufFile file_;
  PackCache pack_cache_;
  std::optional<PackedFile> packed_;  // where the weights are mapped
  const OnLongWork on_long_work_;
  std::unique_ptr<Tokenizer> tokenizer_;
  Model model_;
};

}  // namespace tandem
