// Proves that drafts change no bit (--spec-check): each token that a pass with drafts has computed is computed
// again alone.
#include "engine/run/serve/draft_check.h"

#include <bit>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "engine/run/engine.h"
#include "sync/error.h"

namespace tandem {
namespace {

// "logit 17 is 3f800001 with drafts and 3f800000 alone (bit 0)". Values are numbers of 32 bits.
std::string first_difference(std::span<const float> with_drafts, std::span<const float> alone) {
  for (size_t i = 0; i < alone.size(); ++i) {
    const auto with = std::bit_cast<uint32_t>(with_drafts[i]), without = std::bit_cast<uint32_t>(alone[i]);
    if (with == without) continue;
    char text[100];
    std::snprintf(text, sizeof text, "logit %zu is %08x with drafts and %08x alone (bit %d)", i, with, without,
                  std::countr_zero(with ^ without));
    return text;
  }
  return "";
}

}  // namespace

DraftCheck::DraftCheck(Engine& engine) : engine_(engine), alone_(engine.cache().new_sequence()) {}

// The rest of the prompt runs again, later, where no part of a page can be copied.
void DraftCheck::begin(const Sequence& prompt) {
  alone_ = engine_.cache().fork(prompt, prompt.position());
  const auto rest = prompt.ids().subspan(static_cast<size_t>(alone_.position()));
  rest_.assign(rest.begin(), rest.end());
}

// Logits are copied, because the next pass writes over them.
void DraftCheck::add(int32_t token, std::span<const float> logits) {
  added_.push_back({token, {logits.begin(), logits.end()}});
}

// Appends the same tokens one by one to a sequence without drafts, and compares the logits byte by byte.
void DraftCheck::run() {
  const std::vector<Token> tokens = std::exchange(added_, {});
  if (const auto rest = std::exchange(rest_, {}); !rest.empty()) extend(engine_, alone_, rest);
  for (const Token& token : tokens) {
    const int32_t ids[] = {token.id};
    const Logits alone = extend(engine_, alone_, ids);
    ++checked_;
    const std::span<const float> same = std::span(alone.data(), alone.size()).first(token.logits.size());
    if (std::memcmp(same.data(), token.logits.data(), same.size_bytes()) == 0) continue;
    throw Error("drafts changed the bits of a text (--spec-check)",
                "behind token " + std::to_string(alone_.position()) + " of the text (id " + std::to_string(token.id) +
                    ") " + first_difference(token.logits, same),
                engine_.contract().bits_depend_on_passes
                    ? "A token's bits depend on the other tokens of its pass here; leave out --spec"
                    : "Please report it; --spec none writes without drafts");
  }
}

}  // namespace tandem
