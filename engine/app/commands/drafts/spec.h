// `tandem spec`: the rules of speculative decoding, tried on cases without a model.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/app/command.h"

namespace tandem::app {

class CaseReader;

void add_spec(CLI::App& app, Action& action);

// The result of one case (docs/sdnpu.md lists keys).
nlohmann::json draft_result(CaseReader& reader);
nlohmann::json merge_result(CaseReader& reader);
nlohmann::json reuse_result(CaseReader& reader);
nlohmann::json schedule_result(CaseReader& reader);

}  // namespace tandem::app
