#include "engine/run/machine/missing_kernels.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/proof/circumstances.h"
#include "engine/device/proof/room.h"
#include "engine/model/weights.h"
#include "engine/run/machine/first_text.h"
#include "engine/run/machine/kernel_set.h"
#include "engine/run/machine/warming.h"

namespace tandem {
namespace {

// The mark of the kernels that texts of this engine need, with the program that compiles them.
std::unique_ptr<Warming> warming_for(const EngineOptions& options, const GgufFile& file, ActType act,
                                     KernelsFor texts) {
  return std::make_unique<Warming>(kernels_mark(file, read_config(file), options.kv_type, act, texts),
                                   options.warming_program);
}

KernelsFor texts_of(const EngineOptions& options) {
  return options.sequences > 1 ? KernelsFor::many_texts : KernelsFor::one_text;
}

bool start(Warming& warming, const EngineOptions& options, ActType act) {
  const std::string kv_type = options.kv_type == KvType::f16 ? "f16" : "f32";
  return warming.start({"warm", "-m", std::filesystem::absolute(options.model_path).string(), "--cache-type", kv_type,
                        "--act", to_string(act), "--background"});
}

// Predicts the first text's time with and without the card, from the bytes and the number of values of all tensors.
FirstText first_text(const EngineOptions& options, const GgufFile& file, const Machine& machine, const KnownGpu& card) {
  double bytes = 0, parameters = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    bytes += static_cast<double>(tensor.bytes);
    parameters += std::accumulate(tensor.shape.begin(), tensor.shape.end(), 1.0, std::multiplies<>());
  }
  const auto cores = static_cast<int>(machine.layout().gpu.size() + machine.layout().npu.size());
  return predict_first_text(options.first_text, bytes, parameters, cores, card.compute_units,
                            machine.last_compile_seconds(card));
}

// Decides between waiting for the card's kernels and beginning without the card. Writing without the card is slow, so a
// text that is long enough waits.
void begin_on_card(const KnownGpu& card, const EngineOptions& options, const GgufFile& file, Machine& machine) {
  const ActType act = options.act.value_or(ActType::f32);  // what default_act() returns for a card alone
  auto warming = warming_for(options, file, act, texts_of(options));
  if (warming->done()) return;
  const FirstText text = first_text(options, file, machine, card);
  if (text.waits() || !start(*warming, options, act))
    machine.compile_for_card(card, std::move(warming), describe(text, card.id));
  else
    machine.wait_for_gpu(std::move(warming), describe(text, card.id), true);
}

}  // namespace

// Only `auto` without named devices may begin without a GPU. A user who names devices, a split or a plan gets exactly
// these, and waits for their kernels.
void begin_without_kernels(const EngineOptions& options, const GgufFile& file, Machine& machine) {
  if (options.warming_program.empty() || options.plan != "auto" || !options.devices.empty() || !options.split.empty())
    return;
  if (const auto card = machine.card()) return begin_on_card(*card, options, file, machine);
  const ActType act = options.act.value_or(ActType::f16);
  if (act == ActType::f32) return;
  auto warming = warming_for(options, file, act, texts_of(options));
  if (warming->done()) return;
  // With so little memory this process could not load a driver later either. Opening the devices says so.
  if (proof::want_of_driver_memory()) return;
  std::error_code ignored;
  std::filesystem::remove(warming->path(), ignored);  // a mark that no longer holds
  const std::string in_vain = proof::why_nothing_is_kept();
  if (!in_vain.empty())
    return machine.wait_for_gpu(
        std::move(warming), "the text is written without a GPU, for what is compiled for one cannot be kept: " +
                                in_vain + ". Name a GPU with --device to have its kernels compiled for this run alone");
  if (!start(*warming, options, act)) return;
  machine.wait_for_gpu(std::move(warming),
                       "the GPU's kernels are being compiled in the background; it joins in when they are there");
}

// If the plan or the devices are named, they decide about the type of activations (default_act()), and are not open
// yet. So the kernels of either type must be there. Cards take no lists, so their default does not matter.
bool has_kernels_of_many(const EngineOptions& options, const GgufFile& file) {
  if (options.warming_program.empty()) return false;
  std::vector<ActType> acts = {ActType::f16};
  if (options.plan != "auto" || !options.devices.empty()) acts.push_back(ActType::f32);
  if (options.act) acts = {*options.act};
  return std::ranges::all_of(
      acts, [&](ActType act) { return warming_for(options, file, act, KernelsFor::many_texts)->done(); });
}

}  // namespace tandem
