// A model on open devices that runs any plan which a test names, with made-up costs. One process runs every plan and
// many cuts without measurements, and compiles each kernel once. Other tests check what engines add: choosing,
// measuring and keeping plans.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/device/registry.h"
#include "engine/graph/activations.h"
#include "engine/graph/decoder.h"
#include "engine/model/weights.h"
#include "engine/plan/strategy.h"
#include "engine/run/pass/executor.h"

namespace tandem::testing {

struct WholeModelOptions {
  std::vector<std::string> devices;  // "host" beside a GPU and an NPU runs on the NPU's thread, as in engines
  std::string family = "simd";
  sync::Policy sync_policy = sync::Policy::predict;
  KvType kv_type = KvType::f32;
  bool round_f16 = true;              // --act f16
  Dominant dominant = Dominant::gpu;  // --submit ahead; npu: follow
  int64_t tokens = 256;               // the most of one pass; all of them may get logits
  int64_t positions = 1280;
  std::vector<int64_t> graph_tokens = {1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512, 1024};
};

class WholeModel {
 public:
  WholeModel(const std::string& path, const WholeModelOptions& options);

  // The plan of a batch with costs made from `seed`. With another seed another processor is faster for each matrix, and
  // the cuts differ. Rows are cut 2 : 3.
  Plan plan(const std::string& strategy, const Batch& batch, uint64_t seed = 1) const;

  // Runs the tokens as one batch behind `past` others. Returns [logit_rows, vocabulary]: the last tokens' logits.
  std::vector<float> run(const std::string& strategy, std::span<const int32_t> ids, int64_t past, int64_t logit_rows,
                         uint64_t seed = 1);
  // Runs pieces of `piece` tokens from the beginning, with logits for all tokens.
  std::vector<float> all_logits(const std::string& strategy, std::span<const int32_t> ids, int64_t piece,
                                uint64_t seed = 1);
  // Runs a prompt as engines do: with the logits of its last token only, and no logits for the chunks before.
  std::vector<float> last_logits(const std::string& strategy, std::span<const int32_t> ids, int64_t piece,
                                 uint64_t seed = 1);

  // The matmuls and attentions that plans have cut between devices since the last call, and the devices
  // that multiplied.
  struct Seen {
    int64_t cut_matmuls = 0, cut_attentions = 0;
    std::vector<std::string> multipliers;
  };
  Seen take_seen();

  int64_t vocabulary() const { return model_.config.vocabulary; }
  const DeviceInfo& first() const { return devices_.front()->info(); }

 private:
  void look_at(const Plan& plan);

  WholeModelOptions options_;
  GgufFile file_;
  sync::Pool pool_;
  Model model_;
  struct Devices : std::vector<std::unique_ptr<Device>> {
    ~Devices() {
      while (!empty()) pop_back();  // in this order, because the host may run on the NPU's thread
    }
  } devices_;
  std::vector<int> lanes_;  // like PlanCosts::lanes
  std::unique_ptr<Activations> activations_;
  std::unique_ptr<Executor> executor_;
  Seen seen_;
};

}  // namespace tandem::testing
