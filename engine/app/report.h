// How the program tells its user about errors: one paragraph on stderr and, where asked, a JSON object on stdout.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sync/error.h"

namespace tandem::app {

void report_error(const Error& error, bool json);
void report_usage(const std::string& message, bool json);

// {"error": {"message", "what", "on", "hint"}}
nlohmann::json error_json(const Error& error);

// Writes an object as one line to stdout; bytes that are no UTF-8 become U+FFFD.
void print_json(const nlohmann::json& value);

}  // namespace tandem::app
