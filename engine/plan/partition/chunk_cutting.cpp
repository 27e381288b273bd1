#include "engine/plan/partition/chunk_cutting.h"

#include <algorithm>
#include <limits>

#include "sync/error.h"

namespace tandem {
namespace {

std::vector<int64_t> chunks_of(int64_t total, int64_t length) {
  std::vector<int64_t> chunks;
  for (int64_t begin = 0; begin < total; begin += length) chunks.push_back(std::min(length, total - begin));
  return chunks;
}

// All chunks but the last have equal length, and the time of attention grows about linearly with the tokens before a
// chunk. So evenly spread chunks stand for those around them, and a long prompt takes no longer to cut than one of
// 4,096 tokens.
constexpr int64_t kSampledChunks = 16;

double seconds_of(const std::vector<int64_t>& chunks, const std::function<double(int64_t begin, int64_t S)>& seconds) {
  const int64_t equal = std::ssize(chunks) - 1, sampled = std::min(equal, kSampledChunks), length = chunks.front();
  double sum = 0;
  for (int64_t i = 0; i < sampled; ++i) {
    const int64_t first = equal * i / sampled, end = equal * (i + 1) / sampled;
    sum += static_cast<double>(end - first) * seconds((first + end - 1) / 2 * length, length);
  }
  return sum + seconds(equal * length, chunks.back());
}

}  // namespace

// N5. The least number of chunks fixes the even length. Each candidate rounds this length up to another step, and the
// first candidate has chunks of max_tokens.
std::vector<int64_t> cut_chunks(int64_t total, int64_t max_tokens,
                                const std::function<double(int64_t begin, int64_t S)>& seconds) {
  TANDEM_CHECK(total > 0 && max_tokens > 0, "a prompt and a pass have tokens");
  std::vector<int64_t> best = chunks_of(total, max_tokens);
  if (best.size() == 1) return best;
  const auto count = static_cast<int64_t>(best.size()), even = (total + count - 1) / count;
  double least = std::numeric_limits<double>::infinity();
  // An NPU's graphs have lengths that are powers of two. A chunk that needs few of them may be worth unequal lengths.
  for (const int64_t step : {max_tokens, int64_t{128}, int64_t{64}, int64_t{32}, int64_t{8}}) {
    const std::vector<int64_t> chunks = chunks_of(total, std::min(max_tokens, (even + step - 1) / step * step));
    const double sum = seconds_of(chunks, seconds);
    if (sum < least) best = chunks, least = sum;
  }
  return best;
}

}  // namespace tandem
