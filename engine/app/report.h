// Reports errors to the user: one paragraph on stderr and, on request, a JSON object on stdout. Also has parts of a
// run's JSON result.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "engine/moe/near_ties.h"
#include "engine/run/choice/plans_ran.h"
#include "sync/error.h"

namespace tandem::app {

// Wrong usage that is found after the command line was read: exit status kWrongUsage.
class WrongUsage : public Error {
 public:
  explicit WrongUsage(std::string problem);
};

void report_error(const Error& error, bool json);
void report_usage(const std::string& problem, bool json);

// {"error": {"message", "what", "on", "hint"}}
nlohmann::json error_json(const Error& error);

// Writes an object as one line to stdout. Invalid UTF-8 bytes become U+FFFD.
void print_json(const nlohmann::json& value);

// Writes the members `columns` of each object as CSV (RFC 4180), with a line of names. Texts are in quotes, numbers are
// not. Other values are the text of their JSON, in quotes.
void print_csv(const nlohmann::json& rows, std::span<const char* const> columns);

// [{"tokens": 256, "plan": "sequence", "passes": 2}, ...]
nlohmann::json plans_json(std::span<const PlanRan> plans);

// How close a mixture of experts came to other choices: {"decisions", "near_ties", "smallest_margin", "near_below"}.
nlohmann::json router_json(const RouterMargins& margins);

}  // namespace tandem::app
