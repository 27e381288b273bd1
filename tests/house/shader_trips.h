// The trip-count check of shaders: an upper bound on the loop iterations of one invocation.
//
// lavapipe silently ends all loops of an invocation when they have run 65,535 iterations together. So in every shader
// the sum over its loops must stay below that. Nested loops multiply, and each call of a function counts. This check
// proves it from the source. A `for` over literals, `const int`s and macros is counted as written (a macro counts with
// its default). Any other loop names its bound in a comment on its line or the line above:
//     // trips <= MAX_K / 4        why it holds
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::house {

inline constexpr int64_t kTripBudget = 65535;  // an invocation's total must stay below it

struct TripReport {
  int64_t trips = 0;                  // an upper bound for main(), at most kTripBudget
  int loops = 0;                      // in the text
  std::vector<std::string> problems;  // "file:line: ..."; empty if the shader is safe
};

// read_include: returns the text of an included file, or nothing.
using ReadInclude = std::function<std::optional<std::string>(const std::string& name)>;
TripReport count_trips(const std::string& name, std::string_view text, const ReadInclude& read_include = {});

}  // namespace tandem::house
