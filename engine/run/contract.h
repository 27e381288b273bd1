// Whether results have the bits of the numeric contract (docs/numbers.md): those of every other plan whose devices keep
// it too. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/plan/plan.h"
#include "engine/tensor/activation.h"
#include "engine/tensor/packed.h"

namespace tandem {

// Before anything runs. One sentence for each reason why a run may give other bits than other plans; none: it gives the
// same. devices: all that a plan may use; weights: the formats of the model's matrices; act: of the run.
std::vector<std::string> reasons_for_other_bits(std::span<const DeviceInfo* const> devices,
                                                std::span<const PackedFormat> weights, ActType act);

// What --act leaves as it is, for people; "": nothing. Weights without integers keep f32 activations beside 8-bit ones.
std::string note_on_act(ActType act, std::span<const PackedFormat> weights);

// Whether a token's bits may depend on the length of the pass that it was in: where devices with different sums or
// roundings may share one, since where they share it depends on the length.
bool bits_depend_on_passes(std::span<const DeviceInfo* const> devices, std::span<const PackedFormat> weights,
                           ActType act);

// Of one plan, beside another one with the same activations: "" where every device that takes part keeps the contract,
// else the first reason why not. devices: at least the plan's own. f16_activations: what goes into matmuls is rounded
// to f16 (--act f16).
std::string why_not_contract_bits(const Plan& plan, std::span<const DeviceInfo* const> devices, bool f16_activations);

}  // namespace tandem
