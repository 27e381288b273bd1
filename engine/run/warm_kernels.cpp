#include "engine/run/warm_kernels.h"

#include <vector>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/registry.h"
#include "engine/run/timeline.h"

namespace tandem {
namespace {

// Attention and matmuls of many tokens are tiled by up to 16; the rest of a longer pass is one of these.
constexpr int64_t kTokens[] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 33, 64};

}  // namespace

EngineOptions options_to_warm(const std::string& model, const std::string& gpu, KvType kv_type, ActType act) {
  EngineOptions options;
  options.model_path = model;
  options.devices = {gpu, first_device(DeviceKind::npu), first_device(DeviceKind::host)};
  options.plan = "gpu-only";
  options.act = act;
  options.kv_type = kv_type;
  options.context = 512;
  options.only_layers_of_every_kind = true;
  options.program_folder = gpu::default_cache_folder();
  options.measurements = "";  // of a model that is not whole: nothing is learnt
  return options;
}

void warm_kernels(Engine& engine, const std::function<bool(int64_t done, int64_t total)>& progress) {
  int64_t done = 0;
  const auto total = static_cast<int64_t>(2 * std::size(kTokens));
  for (const int64_t S : kTokens) {
    const std::vector<int32_t> ids(static_cast<size_t>(S), 0);
    engine.prepare_kernels(S);
    for (const bool recorded : {false, true}) {
      Timeline timeline;
      engine.rewind(0);
      engine.machine().record(recorded ? &timeline : nullptr);
      engine.extend(ids);
      engine.machine().record(nullptr);
      if (!progress(++done, total)) return;
    }
  }
}

}  // namespace tandem
