// Whether results have the bits of the numeric contract (docs/numbers.md). All plans whose devices keep the contract
// give the same bits.
//
// Contract: pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/plan/plan.h"
#include "engine/tensor/activation.h"
#include "engine/tensor/packed.h"
#include "tandem/engine.h"

namespace tandem {

// Before anything runs: why a run may give other bits than other plans, one sentence for each reason. Empty: it gives
// the same bits. devices: all that a plan may use. weights: the formats of the model's matrices.
std::vector<std::string> reasons_for_other_bits(std::span<const DeviceInfo* const> devices,
                                                std::span<const PackedFormat> weights, ActType act);

BitsContract contract_of(std::span<const DeviceInfo* const> devices, std::span<const PackedFormat> weights,
                         ActType act);

// Whether every device multiplies the same integers with 8-bit activations. Weights without integers keep f32 ones.
bool all_integers(std::span<const PackedFormat> weights);

// A note for the user about matrices that --act does not change; "": there are none. Weights without integers keep f32
// activations beside 8-bit ones.
std::string note_on_act(ActType act, std::span<const PackedFormat> weights);

// Whether a token's bits may depend on the length of its pass. This is so if devices with different sums or roundings
// may share a pass, because their shares depend on the length.
bool bits_depend_on_passes(std::span<const DeviceInfo* const> devices, std::span<const PackedFormat> weights,
                           ActType act);

// Compares one plan with other plans for the same activations. Returns "" if every device of the plan keeps the
// contract, else the first reason why not. devices: at least the plan's own. f16_activations: matmul inputs are rounded
// to f16 (--act f16).
std::string why_not_contract_bits(const Plan& plan, std::span<const DeviceInfo* const> devices, bool f16_activations);

}  // namespace tandem
