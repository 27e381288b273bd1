#include "engine/app/commands/soc_clock.h"

#include <algorithm>
#include <map>

#include "engine/model/shapes.h"
#include "sync/error.h"

namespace tandem::app {

SocClock::SocClock(const SocRequest& request)
    : profile_(soc_profile(request.soc)),
      model_(model_shape(request.shape), packed_format(request.weights), request.tokens, request.positions,
             !profile_.joined_matmuls),
      strategy_(request.plan == "auto" ? "tensor" : request.plan) {
  pass(1, {});  // a plan that this chip cannot run is found out before anything else is done
}

SocClock::Figures SocClock::prompt(int64_t S, int64_t position) const {
  const ModelRun run = pass(S, {SyncCost::fast, position}).run;
  return {run.compile_seconds + run.seconds, run.joules};
}

SocClock::Figures SocClock::tokens(int64_t count, int64_t position) const {
  const ModelRun run = pass(1, {SyncCost::fast, position + count / 2}).run;
  return {run.seconds * static_cast<double>(count), run.joules * static_cast<double>(count)};
}

StorageType usual_type(const GgufFile& file) {
  std::map<StorageType, size_t> bytes;
  for (const GgufTensor& tensor : file.tensors()) {
    if (tensor.shape.size() == 2) bytes[tensor.type] += tensor.bytes;
  }
  if (bytes.empty()) throw Error("there are no matrices in the file", file.path());
  return std::ranges::max_element(bytes, {}, [](const auto& entry) { return entry.second; })->first;
}

}  // namespace tandem::app
