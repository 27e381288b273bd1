// N1: what was counted of a model's routing, as a file.
//
// Contract: a JSON object with `schema` (1), `model`, `experts` (E), `experts_used` (k), `tokens`, and `layers`, each
// with `layer`, `counts` ([E]), and for readers `imbalance` (r_l) and `popularity` ([E]), which are not read back. A
// file that is none, whose counts do not add up to tokens * k, or of another model, is an Error naming it.
#pragma once

#include <string>
#include <string_view>

#include "engine/moe/routing_counts.h"

namespace tandem {

struct Calibration {
  std::string model;  // its name, as its file says
  RoutingCounts counts;
  bool operator==(const Calibration&) const = default;
};

std::string calibration_json(const Calibration& calibration);
Calibration parse_calibration(std::string_view json, const std::string& source);
Calibration read_calibration(const std::string& path);

// Error unless it is of a model with this name, these experts and these layers.
void require_same_model(const Calibration& calibration, const std::string& model, const RoutingCounts& shape,
                        const std::string& source);

}  // namespace tandem
