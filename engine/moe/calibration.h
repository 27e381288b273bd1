// N1: the counts of a model's routing, as a file.
//
// Contract: a JSON object with `schema` (1), `model`, `experts` (E), `experts_used` (k), `tokens` and `layers`. Each
// layer has `layer` and `counts` ([E]). For human readers it also has `imbalance` (r_l) and `popularity` ([E]), which
// are not read back. Error, naming the file: it is no such object, its counts do not add up to tokens * k, or it is of
// another model.
#pragma once

#include <string>
#include <string_view>

#include "engine/moe/routing_counts.h"

namespace tandem {

struct Calibration {
  std::string model;  // the model's name from its file
  RoutingCounts counts;
  bool operator==(const Calibration&) const = default;
};

std::string calibration_json(const Calibration& calibration);
Calibration parse_calibration(std::string_view json, const std::string& source);
// A trace (engine/moe/routing_trace.h), whose name ends with .jsonl, counts by its tokens. Error: it has none.
Calibration read_calibration(const std::string& path);

// Error unless the calibration is of a model with this name, these experts and these layers.
void require_same_model(const Calibration& calibration, const std::string& model, const RoutingCounts& shape,
                        const std::string& source);

}  // namespace tandem
