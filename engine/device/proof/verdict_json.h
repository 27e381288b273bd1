// Converts facts about a device to JSON and back. The child that tries drivers sends them, and the verdict's file
// holds them.
//
// Contract: all functions are pure. JSON of another form throws an exception of the JSON library.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/device/proof/verdict.h"

namespace tandem::proof {

inline nlohmann::json identity_as_json(const Identity& one) {
  return {{"name", one.name},      {"driver", one.driver}, {"gpu", one.gpu},
          {"uuid", one.card.uuid}, {"pci", one.card.pci},  {"discrete", one.discrete}};
}

inline Identity identity_from(const nlohmann::json& json) {
  return {json.at("name"), json.at("driver"), json.at("gpu"), {json.at("uuid"), json.at("pci")}, json.at("discrete")};
}

inline nlohmann::json seen_as_json(const Seen& seen) {
  return {{"shares_memory", seen.shares_memory},
          {"policies", seen.policies},
          {"compute_units", seen.compute_units},
          {"look_seconds", seen.look_seconds}};
}

inline Seen seen_from(const nlohmann::json& json) {
  return {json.at("shares_memory"), json.at("policies"), json.at("compute_units"), json.at("look_seconds")};
}

}  // namespace tandem::proof
