// Models and engines whose experts are divided between a GPU, the host and the link.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "engine/run/machine/expert_store.h"
#include "tests/engine/run/golden.h"
#include "tests/engine/run/host_engine.h"
#include "tests/engine/run/made_models.h"

namespace tandem::testing {

// Experts alone, and shared experts behind a gate.
inline const MadeModel kDivided[] = {
    {"mixtral",
     R"({"schema": 1, "architecture": "llama", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4, "kv_heads": 2,
         "vocabulary": 320, "context_length": 256, "experts": 8, "experts_used": 2, "expert_feed_forward": 96})",
     [](ModelConfig&) {}},
    {"qwen2moe",
     R"({"schema": 1, "architecture": "qwen2moe", "layers": 2, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 320, "context_length": 256, "experts": 12, "experts_used": 4,
         "expert_feed_forward": 32, "shared_feed_forward": 128})",
     [](ModelConfig&) {}},
};

class DividedExpertsTest : public ::testing::Test {
 protected:
  EngineOptions options(const std::string& model, const std::string& plan, std::vector<std::string> devices,
                        double slots, int64_t experts, ActType act = ActType::f32) const {
    const Way way{plan, {}, devices.front() == "host" ? "" : "simd", act, KvType::f16, false, "predict", devices};
    EngineOptions options = options_for(model, way);
    options.chunk = 100;
    options.logit_rows = 100;
    options.context = 250;
    if (slots > 0) {
      options.expert_budget = {ExpertBudget::Unit::percent, 100 * (slots + 0.5) / static_cast<double>(experts)};
      options.expert_copies = true;
    }
    options.expert_folder = folder_.file("packed");
    options.hot_experts = false;  // counts of one engine would change the next one
    return options;
  }
  static const LaneDecider& lanes_of(const Engine& engine) { return *engine.model().expert_store()->lanes(); }

  // Logits of all tokens of a prompt, then of passes of so many tokens.
  static std::vector<float> logits_of(Engine& engine) {
    std::vector<float> all;
    Sequence text = engine.cache().new_sequence();
    int first = 0;
    for (const int count : {120, 1, 1, 3, 1, 17, 1, 1, 1}) {
      const std::vector<int32_t> ids = some_ids(first + count);
      const std::vector<float> logits = all_logits(engine, text, std::span(ids).subspan(static_cast<size_t>(first)));
      all.insert(all.end(), logits.begin(), logits.end());
      first += count;
    }
    return all;
  }

  const ScratchFolder folder_;
};

}  // namespace tandem::testing
