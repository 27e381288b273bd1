// Computes the sizes of an engine's buffers, and other values that follow from options, model and machine.
//
// Contract: no function keeps a state. Errors say which option does not fit.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "engine/graph/activations.h"
#include "engine/model/config.h"
#include "engine/model/gguf.h"
#include "engine/moe/calibration.h"
#include "engine/plan/strategy.h"
#include "engine/run/machine/machine.h"
#include "engine/tensor/activation.h"
#include "engine/tensor/expert_source.h"
#include "tandem/options.h"

namespace tandem {

// Tokens of a text: as the user wants, or as many as the model was trained for, but at most 4096.
int64_t context_of(const TextOptions& options, const ModelConfig& config);

// asked: the strategy that the user named; nullptr: `auto`. It also checks the rules for experts, if the model has any.
ActivationSizes activation_sizes(const TextOptions& options, const ModelConfig& config, const Machine& machine,
                                 const Strategy* asked, std::span<const MovingExperts> moving = {});

// Error: a share of TextOptions::split is no number from 0 to 1, or several do not add up to 1.
void require_shares(std::span<const double> split);

// The type of activations that the options and the model decide about; absent: the devices decide (default_act()).
// weights: the formats of the model's matrices.
std::optional<ActType> chosen_act(const TextOptions& options, std::span<const PackedFormat> weights);

// The type of activations if nothing else decides. An NPU rounds the inputs of matmuls to f16. If a plan may use it,
// the other devices round them too.
ActType default_act(const Machine& machine, const Strategy* asked);

// Counts of choices from a calibration file, if one is named. Error if the file is of another model.
std::optional<RoutingCounts> calibrated_counts(const std::string& path, const GgufFile& file,
                                               const ModelConfig& config);

}  // namespace tandem
