// A model in a machine's memory: its configuration, weights and tokenizer.
//
// Several models may be loaded onto one machine, for example a small one that drafts beside the one that verifies.
// engine/run/engine.h runs texts with them.
//
// Contract: the constructor opens the machine's devices, unless they are open. Other cores pack the weights meanwhile.
// Errors: those of load_model() and of Machine::open_devices(), and one if the model file changes while it is read.
// Packed weights that are mapped may change later, and require_weights() throws then. It costs one system call for
// mapped weights and nothing for others. An engine calls it after each pass, before it returns results.
// The destructor keeps packed weights for the next start, if this was asked for, and releases their memory.
// Threads: any, one at a time. Loading runs on the machine's thread.
// Ownership: shares the machine; engines share the model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/model/gguf.h"
#include "engine/model/packed_file.h"
#include "engine/model/tokenizer.h"
#include "engine/model/weights.h"
#include "engine/run/machine/machine.h"
#include "engine/run/machine/pack_cache.h"

namespace tandem {

struct ModelOptions {
  std::string model_path;
  std::string pack_cache_folder;                   // for packed weights, for the next start; empty: they are not kept
  uint64_t pack_cache_bytes = uint64_t{32} << 30;  // most bytes in the folder; the oldest files are removed
  bool only_layers_of_every_kind = false;  // only the layers that need all of the model's kernels, to compile them
  LoadProgress load_progress;
};

class LoadedModel {
 public:
  LoadedModel(std::shared_ptr<Machine> machine, const ModelOptions& options);
  // file: options.model_path, which is open already.
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
  std::optional<PackedFile> packed_;  // only if the weights are mapped
  const OnLongWork on_long_work_;
  std::unique_ptr<Tokenizer> tokenizer_;
  Model model_;
};

}  // namespace tandem
