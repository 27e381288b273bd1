#include "engine/plan/prediction/pass_class.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/plan/prediction/class_text.h"
#include "engine/plan/prediction/operator_class.h"

namespace tandem {
namespace {

constexpr const char* kPhases[] = {"all", "single", "few", "many"};  // in the order of PassClass::Phase

}  // namespace

bool PassClass::broaden() {
  if (positions >= 0)
    positions = -1;
  else if (!plan.empty())
    plan.clear();
  else if (tokens > 0)
    tokens = 0;
  else
    return std::exchange(phase, Phase::any) != Phase::any;
  return true;
}

std::string to_string(const PassClass& passes) {
  std::string text = kPhases[static_cast<size_t>(passes.phase)];
  if (passes.tokens > 0) text += " S" + std::to_string(passes.tokens);
  if (!passes.plan.empty()) text += " " + passes.plan;
  if (passes.positions >= 0) text += " from " + std::to_string(passes.positions);
  return text;
}

// Reads the fields in the order in which they are written. Only text that would be written like this is a class.
std::optional<PassClass> PassClass::named(std::string_view text) {
  ClassText words(text);
  PassClass read;
  const auto* phase = std::ranges::find(kPhases, words.word());
  if (phase == std::end(kPhases)) return std::nullopt;
  read.phase = static_cast<Phase>(phase - kPhases);
  read.tokens = static_cast<uint64_t>(words.number("S").value_or(0));
  read.plan = words.word();
  if (words.take("from")) read.positions = words.number("").value_or(-1);
  return to_string(read) == text ? std::optional(read) : std::nullopt;
}

PassClass class_of(const PassKind& kind) {
  PassClass finest;
  finest.phase = kind.S == 1 ? PassClass::Phase::single : kind.S <= 8 ? PassClass::Phase::few : PassClass::Phase::many;
  finest.tokens = up_to(kind.S);
  finest.plan = kind.plan;
  finest.positions = kind.past < 256 ? 0 : static_cast<int64_t>(up_to(kind.past));
  return finest;
}

}  // namespace tandem
