// The paper's settings on the model clock: the model, the number of tokens, the plan, and the result.
//
// Contract: everything is modelled. Models are shapes (engine/model/shapes.h) with 4-bit weights. q, k, v, gate and
//   up are separate matmuls, as in the paper's engine. The strategies of real plans make these plans, from the
//   profile's costs with fast synchronisation. Without fast synchronisation the same plan runs and costs more (H7).
//   Not thread-safe.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "engine/device/operator.h"
#include "engine/plan/model_clock/modelled_pass.h"

namespace tandem::paper_heterollm {

// The paper's models, by the published shapes that match them.
inline constexpr const char* kL8 = "llama-3-8b";
inline constexpr const char* kL7 = "llama-2-7b";
inline constexpr const char* kL3 = "llama-3.2-3b";
inline constexpr const char* kI1 = "internlm2-1.8b";

struct Setting {
  std::string model;
  int64_t tokens = 0;
  std::string plan;
  int64_t context = 0;
  SyncCost sync = SyncCost::fast;
  bool load = false;
  bool int8 = false;  // activations of 8 bits, on the NPU's integer mode
  auto operator<=>(const Setting&) const = default;
};
Setting prefill(const char* model, int64_t tokens, const char* plan);
Setting decode(const char* model, const char* plan);  // one token after a prompt of 256

// Operators of the models, and plans that depend on no cost: the parts that do not change with a profile.
class Decoders {
 public:
  const std::vector<Operator>& operators(const Setting& setting);
  // nullptr if the plan depends on the profile's costs.
  const Plan* plan(const Setting& setting, const std::vector<DeviceTraits>& devices, Dominant dominant);

 private:
  struct Decoder {
    explicit Decoder(const Setting& setting);
    ShapeModel model;
    std::vector<Operator> operators;
  };
  std::map<std::tuple<std::string, int64_t, int64_t, bool>, std::unique_ptr<Decoder>> decoders_;
  std::map<std::tuple<std::string, int64_t, std::string, bool>, Plan> plans_;
};

double block_weights(const char* model);  // weights of the matmuls of all layers
double head_weights(const char* model);

class Lab {
 public:
  Lab(SocProfile profile, Decoders& decoders) : profile_(std::move(profile)), decoders_(decoders) {}

  const SocProfile& profile() const { return profile_; }
  const ModelRun& run(const Setting& setting);
  double seconds(const Setting& setting);  // of the run, including compilation
  double tokens_per_second(const Setting& setting) { return static_cast<double>(setting.tokens) / seconds(setting); }

 private:
  SocProfile profile_;
  Decoders& decoders_;
  std::map<Setting, ModelRun> runs_;
};

}  // namespace tandem::paper_heterollm
