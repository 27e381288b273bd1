#include "engine/app/commands/bench/soc_clock.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/app/commands/open_engine.h"
#include "engine/model/shapes.h"
#include "engine/tensor/packed.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

ShapeModel shape_model(const SocRequest& request, const SocProfile& profile, const std::string& strategy) {
  const ModelConfig config = model_shape(request.shape);
  if (config.sees_all)
    throw Error("the passes of an encoder have no model clock", request.shape + " (" + config.architecture + ")",
                "take a model that writes text");
  return {config,
          packed_format(request.weights),
          request.tokens,
          request.positions,
          !profile.joined_matmuls,
          experts_for(strategy, config, profile, request.tokens, request.experts, request.counts),
          request.act};
}

}  // namespace

std::optional<Calibration> calibration_of(const CommonFlags& flags) {
  return flags.engine.calibration.empty() ? std::nullopt : std::optional(read_calibration(flags.engine.calibration));
}

// The clock knows 8-bit activations, and takes f16 in place of all others.
SocRequest soc_request(const CommonFlags& flags, std::string shape, StorageType weights, int64_t tokens,
                       int64_t positions) {
  SocRequest request{flags.soc, std::move(shape), weights, flags.engine.plan, tokens, positions, flags.engine.experts};
  const bool integers = !packed_format(weights).dense();
  if (act_of(flags) == ActType::i8 || (flags.act == "auto" && integers)) request.act = ActType::i8;
  if (std::optional<Calibration> calibration = calibration_of(flags)) request.counts = std::move(calibration->counts);
  return request;
}

// `auto` compares measured times, which a described chip does not have. So it stands for the plan `tensor`, whose
// solver chooses by modelled times.
SocClock::SocClock(const SocRequest& request)
    : profile_(soc_profile(request.soc)),
      strategy_(request.plan == "auto" ? "tensor" : request.plan),
      model_(shape_model(request, profile_, strategy_)) {
  pass(1, {});  // a plan that this chip cannot run is an Error now
}

// Graphs that the NPU has to compile first are part of the prompt's time. Their energy is not modelled.
SocClock::Figures SocClock::prompt(int64_t S, int64_t position) const {
  const ModelRun run = pass(S, {SyncCost::fast, position}).run;
  return {run.compile_seconds + run.seconds, run.joules};
}

// Attention's time grows about linearly with the depth. So the token in the middle stands for the mean of all.
SocClock::Figures SocClock::tokens(int64_t count, int64_t position) const {
  const ModelRun run = pass(1, {SyncCost::fast, position + count / 2}).run;
  return {run.seconds * static_cast<double>(count), run.joules * static_cast<double>(count)};
}

// Vectors such as norms do not count: they are F32 in nearly every file. Experts are matrices, one behind the other.
StorageType usual_type(const GgufFile& file) {
  std::map<StorageType, size_t> bytes;
  for (const GgufTensor& tensor : file.tensors()) {
    if (tensor.shape.size() >= 2) bytes[tensor.type] += tensor.bytes;
  }
  if (bytes.empty()) throw Error("there are no matrices in the file", file.path());
  return std::ranges::max_element(bytes, {}, [](const auto& entry) { return entry.second; })->first;
}

}  // namespace tandem::app
