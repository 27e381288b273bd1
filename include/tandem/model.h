// A machine's devices, and models in its memory.
//
// Several models may be loaded onto one machine, for example a small one that drafts beside the one that verifies. An
// engine (tandem/engine.h) runs texts with a model.
//
// Contract: loading opens the machine's devices, unless they are open. Errors: a bad model file, a model file that
// changes while it is read, a device that cannot be opened, too little memory.
// The destructor keeps packed weights for the next start, if this was asked for, and releases their memory.
// Threads: any, one at a time. Loading runs on a thread of the machine (tandem/engine.h).
// Ownership: models and engines share the machine, and engines share the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/options.h"
#include "tandem/tokenizer.h"

namespace tandem {

class GgufFile;
class ExpertStore;
class GraphMemory;
class Machine;  // the devices, and the memory that they see
struct Model;
struct ModelConfig;

std::vector<std::string> available_devices();  // ids in order of preference: real GPUs, CPU devices, NPUs, the host
std::shared_ptr<Machine> make_machine(const MachineOptions& options);  // opens no device yet
std::string device_names(const Machine& machine);                      // of its open devices: "opencl:0,npu:0"

class LoadedModel {
 public:
  LoadedModel(std::shared_ptr<Machine> machine, const ModelOptions& options);
  // file: options.model_path, which is open already.
  LoadedModel(std::shared_ptr<Machine> machine, const ModelOptions& options, GgufFile file);
  ~LoadedModel();
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  const Tokenizer& tokenizer() const;
  int64_t vocabulary() const;  // logits of a token
  size_t weight_bytes() const;
  const std::shared_ptr<Machine>& machine() const;

  // For engines. Mapped weights may change later, and require_weights() throws then. It costs one system call for
  // mapped weights and nothing for others. An engine calls it after each pass, before it returns results.
  const Model& model() const;
  const ModelConfig& config() const;
  const GgufFile& file() const;
  void require_weights() const;
  GraphMemory* graph_memory() const;  // nullptr: without ModelOptions::npu_memory_bytes
  ExpertStore* expert_store() const;  // nullptr: all experts are in memory
  // Y6: automatic budgets for experts look at the free memory, and give slots back or take them again. Between passes.
  // Plans of experts that move are made anew when ExpertStore::slot_changes() has another version.
  void fit_experts() const;
  const std::vector<std::string>& diagnostics() const;  // texts for users

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace tandem
