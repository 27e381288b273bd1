// Y6: how often the experts of a model were chosen in earlier runs, as a small file beside its packed file. The next
// run begins with the most used experts.
//
// Contract: plain values and pure functions. The file is a JSON object with `schema` (1), `packed` (the name of the
// packed file, which stands for the model) and `layers`. A layer has `layer`, `choices` and `uses` ([E]), which add up
// to `choices`. Error, naming the file: it is no such object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/moe/routing_counts.h"

namespace tandem {

struct HotExperts {
  std::string packed;
  std::vector<int64_t> layers;     // the model's numbers of the layers that have experts, ascending
  std::vector<ExpertCounts> uses;  // in the order of `layers`
  bool operator==(const HotExperts&) const = default;
};

std::string hot_experts_json(const HotExperts& hot);
HotExperts parse_hot_experts(std::string_view json, const std::string& source);

// Whether both are of one packed file, and have the same layers with as many experts.
bool of_one_model(const HotExperts& a, const HotExperts& b);
// Choices of earlier runs count half as much as those of this one. Both are of one model.
HotExperts uses_behind(const HotExperts& earlier, const HotExperts& now);
bool has_choices(const HotExperts& hot);

}  // namespace tandem
