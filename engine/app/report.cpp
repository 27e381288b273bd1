#include "engine/app/report.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/model/tokenizer/utf8.h"

namespace tandem::app {

nlohmann::json error_json(const Error& error) {
  return {{"error",
           {{"message", error.what()}, {"what", error.failure()}, {"on", error.object()}, {"hint", error.hint()}}}};
}

// With its default handler dump() would throw for invalid UTF-8, and texts of users and models may hold such bytes.
void print_json(const nlohmann::json& value) {
  std::cout << value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

// The message may quote a user's bytes, so broken UTF-8 is masked before it reaches a terminal. With --json standard
// output gets the error as an object too.
void report_error(const Error& error, bool json) {
  std::cerr << "tandem: " << utf8::masked(error.what(), '?') << std::endl;
  if (json) print_json(error_json(error));
}

namespace {

// A quote within a quoted text is doubled.
std::string csv_of(const nlohmann::json& value) {
  if (value.is_number()) return value.dump();
  std::string quoted = "\"";
  for (const char c : value.is_string() ? value.get<std::string>() : value.dump()) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

void print_csv(const nlohmann::json& rows, std::span<const char* const> columns) {
  for (size_t i = 0; i < columns.size(); ++i) std::cout << (i == 0 ? "" : ",") << columns[i];
  std::cout << '\n';
  for (const auto& row : rows) {
    for (size_t i = 0; i < columns.size(); ++i) std::cout << (i == 0 ? "" : ",") << csv_of(row.at(columns[i]));
    std::cout << '\n';
  }
}

WrongUsage::WrongUsage(std::string problem)
    : Error("wrong usage", std::move(problem), "`tandem --help` and `tandem COMMAND --help` tell what there is") {}

void report_usage(const std::string& problem, bool json) { report_error(WrongUsage(problem), json); }

nlohmann::json plans_json(std::span<const PlanRan> plans) {
  nlohmann::json array = nlohmann::json::array();
  for (const PlanRan& ran : plans)
    array.push_back({{"tokens", ran.tokens}, {"plan", ran.plan}, {"passes", ran.passes}});
  return array;
}

nlohmann::json router_json(const RouterMargins& margins) {
  return {{"decisions", margins.decisions},
          {"near_ties", margins.near_ties},
          {"smallest_margin", margins.smallest},
          {"near_below", kNearTie}};
}

}  // namespace tandem::app
