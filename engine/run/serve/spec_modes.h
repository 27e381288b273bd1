// The names of --spec, for programs and libraries that read them.
//
// Contract: pure; threads: any.
#pragma once

#include <optional>
#include <string_view>

#include "tandem/generate.h"

namespace tandem {

inline constexpr SpecMode kSpecModes[] = {SpecMode::none, SpecMode::automatic, SpecMode::pld, SpecMode::sam,
                                          SpecMode::sdnpu};
// One of the names that to_string() gives.
std::optional<SpecMode> read_spec_mode(std::string_view name);

}  // namespace tandem
