// How the program tells its user about errors: one paragraph on stderr and, where asked, a JSON object on stdout;
// and what became of a run, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "engine/moe/near_ties.h"
#include "engine/run/plans_ran.h"
#include "sync/error.h"

namespace tandem::app {

// What the user has to say otherwise, found after the command line was read: status kWrongUsage.
class WrongUsage : public Error {
 public:
  explicit WrongUsage(std::string problem);
};

void report_error(const Error& error, bool json);
void report_usage(const std::string& problem, bool json);

// {"error": {"message", "what", "on", "hint"}}
nlohmann::json error_json(const Error& error);

// Writes an object as one line to stdout; bytes that are no UTF-8 become U+FFFD.
void print_json(const nlohmann::json& value);

// [{"tokens": 256, "plan": "sequence", "passes": 2}, ...]
nlohmann::json plans_json(std::span<const PlanRan> plans);

// How near a mixture of experts came to other decisions: {"decisions", "near_ties", "smallest_margin", "near_below"}.
nlohmann::json router_json(const RouterMargins& margins);

}  // namespace tandem::app
