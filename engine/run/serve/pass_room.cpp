// Divides the room of a pass between prompts. The oldest prompt goes on in every pass, and short ones are finished
// beside it, so neither waits for the other.
#include "engine/run/serve/pass_room.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tandem {
namespace {

// The prompts but the oldest, by their rests, and by age among equals.
std::vector<size_t> shortest_first(std::span<const int64_t> rests) {
  std::vector<size_t> order(rests.size() - 1);
  std::iota(order.begin(), order.end(), size_t{1});
  std::ranges::stable_sort(order, {}, [rests](size_t prompt) { return rests[prompt]; });
  return order;
}

}  // namespace

// First half of the room is set aside for the oldest prompt. Then the shortest prompts that fit whole get theirs,
// because their texts can begin behind this pass. The other prompts share the rest by age.
std::vector<int64_t> share_room(std::span<const int64_t> rests, int64_t room) {
  std::vector<int64_t> shares(rests.size(), 0);
  if (rests.empty() || room <= 0) return shares;
  const int64_t oldest = std::min(rests[0], (room + 1) / 2);
  int64_t left = room - oldest, ending = 0;
  for (const size_t prompt : shortest_first(rests)) {
    if (rests[prompt] > left) break;  // nor do those behind it fit
    shares[prompt] = rests[prompt];
    left -= rests[prompt];
    ending += rests[prompt];
  }
  left += oldest;
  if (rests[0] <= left) {
    shares[0] = rests[0];
    left -= rests[0];
    ending += rests[0];
  }
  if (ending > 0) left = std::min(left, std::max(ending, kLeastPiece));
  for (size_t prompt = 0; prompt < rests.size(); ++prompt) {  // those that go on, by age
    if (shares[prompt] > 0) continue;
    shares[prompt] = std::min(rests[prompt], left);
    left -= shares[prompt];
  }
  return shares;
}

}  // namespace tandem
