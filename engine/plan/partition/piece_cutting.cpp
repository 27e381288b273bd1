#include "engine/plan/partition/piece_cutting.h"

#include <algorithm>
#include <limits>

#include "sync/error.h"

namespace tandem {
namespace {

std::vector<int64_t> pieces_of(int64_t total, int64_t length) {
  std::vector<int64_t> pieces;
  for (int64_t begin = 0; begin < total; begin += length) pieces.push_back(std::min(length, total - begin));
  return pieces;
}

}  // namespace

std::vector<int64_t> cut_pieces(int64_t total, int64_t most,
                                const std::function<double(int64_t begin, int64_t S)>& seconds) {
  TANDEM_CHECK(total > 0 && most > 0, "a prompt and a pass have tokens");
  std::vector<int64_t> best = pieces_of(total, most);
  if (best.size() == 1) return best;
  const auto count = static_cast<int64_t>(best.size()), even = (total + count - 1) / count;
  double least = std::numeric_limits<double>::infinity();
  // An NPU's graphs are powers of two: a pass that is a sum of few of them may be worth some unevenness.
  for (const int64_t step : {most, int64_t{128}, int64_t{64}, int64_t{32}, int64_t{8}}) {
    const std::vector<int64_t> pieces = pieces_of(total, std::min(most, (even + step - 1) / step * step));
    double sum = 0;
    int64_t begin = 0;
    for (const int64_t S : pieces) {
      sum += seconds(begin, S);
      begin += S;
    }
    if (sum < least) best = pieces, least = sum;
  }
  return best;
}

}  // namespace tandem
