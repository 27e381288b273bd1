#include "engine/run/choice/contract.h"

#include <algorithm>
#include <variant>

#include "sync/error.h"

namespace tandem {
namespace {

// Whether the inputs and the weights of a device's matmuls fit the 16 bits of an NPU's operands.
struct Operands {
  bool activations_fit = true, weights_fit = true;
};

// The reasons why a device does not keep the contract with such operands.
std::vector<std::string> why_not(const DeviceInfo& device, const Operands& operands) {
  std::vector<std::string> reasons;
  if (!device.fused_fma) reasons.push_back(device.id + " multiplies, then adds: its fma is not fused");
  if (!device.exact_quotients) reasons.push_back(device.id + " divides with more than one rounding");
  if (!device.rounds_to_f16) return reasons;
  if (!operands.activations_fit) reasons.push_back(device.id + " rounds activations to f16, other devices do not");
  if (!operands.weights_fit) reasons.push_back(device.id + " rounds F32 and BF16 weights to f16, other devices do not");
  return reasons;
}

// The operands of a step fit if those of each of its matmuls fit.
Operands operands_of(const Step& step, bool f16_activations) {
  Operands operands;
  for (const Operator& op : step.operators) {
    const auto* matmul = std::get_if<MatMul>(&op.body);
    if (!matmul) continue;
    operands.activations_fit &= f16_activations || matmul->act_i8;
    operands.weights_fit &= matmul->w.format.exact_in_f16_contract();
  }
  return operands;
}

}  // namespace

bool all_integers(std::span<const PackedFormat> weights) { return std::ranges::none_of(weights, &PackedFormat::dense); }

std::vector<std::string> reasons_for_other_bits(std::span<const DeviceInfo* const> devices,
                                                std::span<const PackedFormat> weights, ActType act) {
  const bool weights_fit = std::ranges::all_of(weights, &PackedFormat::exact_in_f16_contract);
  std::vector<std::string> reasons;
  const bool activations_fit = act != ActType::i8 || all_integers(weights);
  if (act == ActType::f32) reasons.push_back("activations stay f32, plans with an NPU round them to f16 (--act f16)");
  for (const DeviceInfo* device : devices) {
    const auto more = why_not(*device, {activations_fit, weights_fit});
    reasons.insert(reasons.end(), more.begin(), more.end());
  }
  return reasons;
}

BitsContract contract_of(std::span<const DeviceInfo* const> devices, std::span<const PackedFormat> weights,
                         ActType act) {
  return {reasons_for_other_bits(devices, weights, act), bits_depend_on_passes(devices, weights, act)};
}

std::string note_on_act(ActType act, std::span<const PackedFormat> weights) {
  const auto dense = std::ranges::count_if(weights, &PackedFormat::dense);
  if (act != ActType::i8 || dense == 0) return "";
  const std::string which =
      dense == std::ssize(weights) ? "all" : std::to_string(dense) + " of " + std::to_string(weights.size());
  return "--act i8: " + which + " matrices are F16, BF16 or F32, and multiply f32 activations";
}

// With several devices, each pass may have another plan. If one device computes other bits, a text's bits then depend
// on how its tokens were divided into passes.
bool bits_depend_on_passes(std::span<const DeviceInfo* const> devices, std::span<const PackedFormat> weights,
                           ActType act) {
  const Operands operands{act == ActType::f16 || (act == ActType::i8 && all_integers(weights)),
                          std::ranges::all_of(weights, &PackedFormat::exact_in_f16_contract)};
  return devices.size() > 1 &&
         std::ranges::any_of(devices, [&](const DeviceInfo* device) { return !why_not(*device, operands).empty(); });
}

// Looks at the steps that a plan really has. A device may round operands in general, and still keep the contract with
// the matmuls of its steps.
std::string why_not_contract_bits(const Plan& plan, std::span<const DeviceInfo* const> devices, bool f16_activations) {
  for (const Step& step : plan.steps) {
    const std::string& id = plan.devices[static_cast<size_t>(step.device)];
    const auto device = std::ranges::find(devices, id, [](const DeviceInfo* info) { return info->id; });
    TANDEM_CHECK(device != devices.end(), "the plan runs on a device that is not among the given ones: " + id);
    const auto reasons = why_not(**device, operands_of(step, f16_activations));
    if (!reasons.empty()) return reasons.front();
  }
  return "";
}

}  // namespace tandem
