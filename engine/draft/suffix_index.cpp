#include "engine/draft/suffix_index.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace tandem {
namespace {

// The first and the last end of so many entries are kept, so a long range is searched block by block.
constexpr size_t kBlock = 64;

// The states of an automaton in the order of their strings read backwards. Strings of a state's children by links are
// longer than its own, and differ in the token before those.
class BackwardOrder {
 public:
  explicit BackwardOrder(const SuffixAutomaton& texts) : texts_(texts), begins_(size_t(texts.states()) + 1) {
    for (int32_t state = 1; state < texts.states(); ++state) ++begins_[size_t(texts.link(state)) + 1];
    for (size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    children_.resize(begins_.back());
    std::vector<uint32_t> free = begins_;
    for (int32_t state = 1; state < texts.states(); ++state) children_[free[size_t(texts.link(state))]++] = state;
  }

  template <typename Use>
  void for_each(const Use& use) {
    std::vector<int32_t> waiting{SuffixAutomaton::kRoot};
    while (!waiting.empty()) {
      // The stack visits a state before its children, and the child of the smallest token first.
      const int32_t state = waiting.back();
      waiting.pop_back();
      use(state);
      const auto children =
          std::span(children_).subspan(begins_[size_t(state)], begins_[size_t(state) + 1] - begins_[size_t(state)]);
      std::ranges::sort(children, std::greater(), [&](int32_t child) { return token_before(child, state); });
      waiting.insert(waiting.end(), children.begin(), children.end());
    }
  }

 private:
  int32_t token_before(int32_t child, int32_t state) const {
    return texts_.tokens()[size_t(texts_.first_end(child) - texts_.length(state))];
  }
  const SuffixAutomaton& texts_;
  std::vector<uint32_t> begins_;  // of each state's children
  std::vector<int32_t> children_;
};

}  // namespace

// A state is a whole prefix if its longest string begins where the tokens begin.
SuffixIndex::SuffixIndex(const SuffixAutomaton& texts) : tokens_(texts.tokens().begin(), texts.tokens().end()) {
  BackwardOrder(texts).for_each([&](int32_t state) {
    const int32_t end = texts.first_end(state);
    if (end >= 0 && texts.length(state) == end + 1 && is_found(end)) order_.push_back(end);
  });
  order_.shrink_to_fit();
  make_tables();
}

// Each end is marked once, so all are there if their number is right. An order from a file is checked, because a broken
// one would lead outside of the tokens.
std::optional<SuffixIndex> SuffixIndex::of(std::span<const int32_t> tokens, std::vector<int32_t> order) {
  SuffixIndex index;
  index.tokens_.assign(tokens.begin(), tokens.end());
  std::vector<bool> is_new(tokens.size());
  size_t ends = 0;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (index.is_found(static_cast<int32_t>(i))) is_new[i] = true, ++ends;
  if (order.size() != ends) return std::nullopt;
  for (const int32_t end : order) {
    if (end < 0 || static_cast<size_t>(end) >= tokens.size() || !is_new[size_t(end)]) return std::nullopt;
    is_new[size_t(end)] = false;
  }
  index.order_ = std::move(order);
  index.make_tables();
  return index;
}

// A place counts only if a token of the same text follows it: a draft needs one.
bool SuffixIndex::is_found(int32_t end) const {
  const auto next = static_cast<size_t>(end) + 1;
  return tokens_[next - 1] != kSeparator && next < tokens_.size() && tokens_[next] != kSeparator;
}

void SuffixIndex::make_tables() {
  find_blocks();
  find_token_begins();
}

void SuffixIndex::find_blocks() {
  block_firsts_.clear();
  block_lasts_.clear();
  for (size_t begin = 0; begin < order_.size(); begin += kBlock) {
    const auto [first, last] =
        std::ranges::minmax(std::span(order_).subspan(begin, std::min(kBlock, order_.size() - begin)));
    block_firsts_.push_back(first);
    block_lasts_.push_back(last);
  }
}

// The order is sorted by the last token first, so each token has one range of it. An order from a file may not be
// sorted. Then a token's range may lack some of its entries, and fewer matches are found.
void SuffixIndex::find_token_begins() {
  constexpr size_t kSmallTable = size_t{1} << 18;
  token_begins_.clear();
  const int32_t largest = tokens_.empty() ? -1 : std::ranges::max(tokens_);
  if (largest < 0 || static_cast<size_t>(largest) > kSmallTable + tokens_.size()) return;
  for (size_t entry = 0; entry < order_.size(); ++entry) {
    const auto token = static_cast<size_t>(tokens_[size_t(order_[entry])]);
    if (token >= token_begins_.size()) token_begins_.resize(token + 1, static_cast<int32_t>(entry));
  }
  token_begins_.resize(static_cast<size_t>(largest) + 2, static_cast<int32_t>(order_.size()));
}

// All tokens are sorted anew if the texts are a large part of them, or if they repeat long pieces, because then each
// search compares many tokens.
void SuffixIndex::append(std::span<const int32_t> texts) {
  const auto automaton_of = [](std::span<const int32_t> tokens) {
    SuffixAutomaton automaton;
    for (const int32_t token : tokens) automaton.append(token);
    return automaton;
  };
  if (texts.empty()) return;
  if (texts.size() < tokens_.size() / 4 && merge(SuffixIndex(automaton_of(texts)))) return;
  tokens_.insert(tokens_.end(), texts.begin(), texts.end());
  *this = SuffixIndex(automaton_of(tokens_));
}

// Searches the place of each new entry. They come in their order, so their places rise. False: nothing was changed,
// because the searches compare more than kMostCompared tokens for each token of the index.
bool SuffixIndex::merge(const SuffixIndex& added) {
  constexpr size_t kMostCompared = 200;
  const std::span<const int32_t> texts = added.tokens();
  std::vector<int32_t> begins(texts.size());  // of the text that each token belongs to
  for (size_t i = 1; i < texts.size(); ++i)
    begins[i] = texts[i - 1] == kSeparator ? static_cast<int32_t>(i) : begins[i - 1];
  std::vector<int32_t> merged;
  merged.reserve(order_.size() + added.order_.size());
  size_t taken = 0, compared = 0;
  for (const int32_t end : added.order_) {
    const auto begin = static_cast<size_t>(begins[size_t(end)]);
    const Place place = place_of(texts.subspan(begin, size_t(end) + 1 - begin));
    compared += static_cast<size_t>(std::max(place.before, place.behind));
    if (compared > kMostCompared * (tokens_.size() + texts.size())) return false;
    for (; taken < place.entry; ++taken) merged.push_back(order_[taken]);
    merged.push_back(end + static_cast<int32_t>(tokens_.size()));
  }
  merged.insert(merged.end(), order_.begin() + static_cast<std::ptrdiff_t>(taken), order_.end());
  order_ = std::move(merged);
  tokens_.insert(tokens_.end(), texts.begin(), texts.end());
  make_tables();
  return true;
}

// The oldest texts go, and the numbers of all others fall by their size.
void SuffixIndex::remove_first(size_t tokens) {
  const auto first = static_cast<int32_t>(tokens);
  std::erase_if(order_, [&](int32_t end) { return end < first; });
  for (int32_t& end : order_) end -= first;
  tokens_.erase(tokens_.begin(), tokens_.begin() + first);
  make_tables();
}

size_t SuffixIndex::bytes() const {
  return (tokens_.capacity() + order_.capacity() + block_lasts_.capacity() + block_firsts_.capacity() +
          token_begins_.capacity()) *
         sizeof(int32_t);
}

// How many of the last tokens agree, if the first `from` of them are known to do so.
int32_t SuffixIndex::matching(size_t entry, std::span<const int32_t> context, int32_t from) const {
  const int32_t end = order_[entry], most = std::min<int32_t>(end + 1, int32_t(context.size()));
  const int32_t* const text = tokens_.data() + end;
  const int32_t* const last = context.data() + context.size() - 1;
  while (from < most && text[-from] == last[-from]) ++from;
  return from;
}

// The entries whose last token this is, or all of them if there is no table.
std::pair<size_t, size_t> SuffixIndex::entries_of(int32_t token) const {
  if (token_begins_.empty()) return {0, order_.size()};
  const auto index = std::min(static_cast<size_t>(token), token_begins_.size() - 1);
  const auto behind = std::min(index + 1, token_begins_.size() - 1);
  return {static_cast<size_t>(token_begins_[index]), static_cast<size_t>(token_begins_[behind])};
}

// A binary search over the order. Both neighbours have at least the smaller one's match in common with the middle, so
// comparing goes on behind it.
SuffixIndex::Place SuffixIndex::place_of(std::span<const int32_t> context) const {
  auto [low, high] = entries_of(context.back());
  int32_t before = 0, behind = 0;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const int32_t same = matching(middle, context, std::min(before, behind));
    const int32_t end = order_[middle];
    const bool is_smaller = same < int32_t(context.size()) &&
                            (same > end || tokens_[size_t(end - same)] < context[context.size() - 1 - size_t(same)]);
    if (is_smaller)
      low = middle + 1, before = same;
    else
      high = middle, behind = same;
  }
  return {low, before, behind};
}

// The longest match is a neighbour of the context's place in the order, and all others of its length lie around it. If
// an order from a file is not sorted, a neighbour may match less than the search believes.
SuffixIndex::Range SuffixIndex::longest_match(std::span<const int32_t> context) const {
  if (context.empty() || order_.empty()) return {};
  const Place place = place_of(context);
  Range range{place.entry, place.entry, std::max(place.before, place.behind)};
  if (range.length == 0) return {};
  const auto matches = [&](size_t entry) { return matching(entry, context, 0) >= range.length; };
  // Steps that double find the ends of the range, which is short if the match is long.
  for (size_t step = 1; step > 0;) {
    const bool fits = range.begin >= step && matches(range.begin - step);
    if (fits) range.begin -= step;
    step = fits ? step * 2 : step / 2;
  }
  for (size_t step = 1; step > 0;) {
    const bool fits = range.end + step <= order_.size() && matches(range.end + step - 1);
    if (fits) range.end += step;
    step = fits ? step * 2 : step / 2;
  }
  return range.begin == range.end ? Range() : range;
}

namespace {

// The best of the entries [begin, end), with whole blocks by their best.
template <typename Better>
int32_t best_of(std::span<const int32_t> order, std::span<const int32_t> blocks, size_t begin, size_t end,
                const Better& better) {
  int32_t best = order[begin];
  for (size_t i = begin; i < end;) {
    const bool whole = i % kBlock == 0 && i + kBlock <= end;
    const int32_t each = whole ? blocks[i / kBlock] : order[i];
    if (better(each, best)) best = each;
    i += whole ? kBlock : 1;
  }
  return best;
}

}  // namespace

int32_t SuffixIndex::last_end(const Range& range) const {
  return best_of(order_, block_lasts_, range.begin, range.end, std::greater());
}
int32_t SuffixIndex::first_end(const Range& range) const {
  return best_of(order_, block_firsts_, range.begin, range.end, std::less());
}

// A long range is judged by eight of its places, which costs little and is right for most.
Followers SuffixIndex::followers(const Range& range) const {
  constexpr size_t kJudged = 8;
  const size_t places = range.end - range.begin, step = (places + kJudged - 1) / kJudged;
  if (places == 1) return Followers::once;
  for (size_t i = range.begin + step; i < range.end; i += step)
    if (token_behind(i) != token_behind(range.begin)) return Followers::different;
  return token_behind(range.end - 1) == token_behind(range.begin) ? Followers::same : Followers::different;
}

}  // namespace tandem
