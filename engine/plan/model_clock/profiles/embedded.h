// The built-in processor profiles: a table of this folder's .json files, which cmake/EmbedProfiles.cmake writes at
// build time.
#pragma once

#include <span>
#include <string_view>

namespace tandem {

struct EmbeddedProfile {
  std::string_view name, text;
};
std::span<const EmbeddedProfile> embedded_profiles();  // sorted by name

}  // namespace tandem
