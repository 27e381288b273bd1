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

// All but the last are alike, and attention takes a pass longer by about as much for each token before it: of many, a
// few that are spread evenly stand for those around them. So a long prompt takes no longer to cut than one of 4,096.
constexpr int64_t kAskedPieces = 16;

double seconds_of(const std::vector<int64_t>& pieces, const std::function<double(int64_t begin, int64_t S)>& seconds) {
  const int64_t alike = std::ssize(pieces) - 1, asked = std::min(alike, kAskedPieces), length = pieces.front();
  double sum = 0;
  for (int64_t i = 0; i < asked; ++i) {
    const int64_t first = alike * i / asked, end = alike * (i + 1) / asked;
    sum += static_cast<double>(end - first) * seconds((first + end - 1) / 2 * length, length);
  }
  return sum + seconds(alike * length, pieces.back());
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
    const double sum = seconds_of(pieces, seconds);
    if (sum < least) best = pieces, least = sum;
  }
  return best;
}

}  // namespace tandem
