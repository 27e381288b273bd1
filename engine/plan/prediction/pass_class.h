// A class of passes whose times have something in common, at some level of detail.
//
// From the broadest level to the finest: all passes; single tokens, few or many; a number of tokens; a plan; and the
// positions before the pass. The number of tokens stands above the plan. The costs that are not simulated, such as
// starting devices, are a larger part of short passes whatever their plan. So a plan without samples at some number of
// tokens begins with the ratio of other plans there. A class has text only in files: "many S64 rows from 256".
//
// Contract: a value; pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tandem {

// A pass: its plan, its number of tokens, and the number of positions before them.
struct PassKind {
  // The strategy, then the way of submission where it is not "ahead", then "+sequences" for many: "rows+follow".
  std::string plan;
  int64_t S = 0, past = 0;
};

struct PassClass {
  enum class Phase { any, single, few, many };  // 1 token; up to 8; more
  Phase phase = Phase::any;
  uint64_t tokens = 0;     // rounded up to a power of two; 0: any number
  std::string plan;        // PassKind::plan; empty: any
  int64_t positions = -1;  // rounded up to a power of two; below 256: 0; -1: any

  auto operator<=>(const PassClass&) const = default;
  bool broaden();  // becomes the class of the level above; false: this is the class of all passes
  static std::optional<PassClass> named(std::string_view text);  // nothing: no class has this text
};
std::string to_string(const PassClass& passes);

PassClass class_of(const PassKind& kind);  // the finest

}  // namespace tandem
