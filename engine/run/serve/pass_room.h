// How the prompts that are being read share the room of a pass.
//
// A short prompt must not wait until a long one is read. So prompts whose rest fits come first, the shortest of them
// before the others. The oldest prompt has half of the room as long as it needs it, so it is read at half speed at
// least. Prompts that go on get no more tokens than those that end in the same pass. So the first token of a short
// prompt does not wait for a full pass of a long one.
// Contract: pure. A text's bits do not depend on how its prompt is cut (Engine::contract()).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem {

// Tokens that prompts which go on may have in any case. A pass of fewer tokens costs nearly as much.
inline constexpr int64_t kLeastPiece = 64;

// rests: tokens of each prompt that have not run, the oldest prompt first; each at least 1. room: tokens. Returns the
// tokens of each in the pass, 0 for those that wait.
std::vector<int64_t> share_room(std::span<const int64_t> rests, int64_t room);

}  // namespace tandem
