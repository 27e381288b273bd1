#include "engine/draft/draft_history.h"

#include <algorithm>
#include <utility>

namespace tandem {

const char* to_string(DraftSource source) {
  switch (source) {
    case DraftSource::none:
      return "none";
    case DraftSource::context:
      return "context";
    case DraftSource::prediction:
      return "prediction";
    case DraftSource::history:
      return "history";
    case DraftSource::calibrated:
      return "calibrated";
    case DraftSource::reused:
      return "reused";
    case DraftSource::model:
      return "model";
  }
  return "";
}

// Records lie one behind another with separators. Their begins are found once, in one walk.
DraftHistory::DraftHistory(SuffixIndex index) : index_(std::move(index)) {
  int64_t begin = 0;
  for_each_text(index_.tokens(), [&](std::span<const int32_t> text) {
    begins_.push_back(begin);
    begin += std::ssize(text) + 1;
    tokens_ += std::ssize(text);
  });
}

// A new record goes into an automaton that grows, and compact() moves all of them into the index later. `version_` says
// to matchers that the history has changed.
void DraftHistory::add(std::span<const int32_t> record) {
  begins_.push_back(static_cast<int64_t>(indexed_tokens()) + static_cast<int64_t>(added().size()));
  for (const int32_t token : record) added_.append(token);
  added_.append(kSeparator);
  tokens_ += static_cast<int64_t>(record.size());
  ++version_;
}

std::span<const int32_t> DraftHistory::record(int64_t number) const {
  const auto of = [&](size_t record) { return begins_[record]; };
  const auto n = static_cast<size_t>(number);
  const int64_t begin = of(n), indexed = indexed_tokens();
  const int64_t end = n + 1 < begins_.size() ? of(n + 1) : indexed + static_cast<int64_t>(added().size());
  const auto length = static_cast<size_t>(end - begin - 1);  // without the separator
  return begin < indexed ? index_.tokens().subspan(static_cast<size_t>(begin), length)
                         : added().subspan(static_cast<size_t>(begin - indexed), length);
}

size_t DraftHistory::bytes() const {
  return index_.bytes() + added_.bytes() + begins_.capacity() * sizeof(begins_.front());
}

// The index takes less memory than the automaton and cannot grow, so records move when there are many new ones.
void DraftHistory::compact() {
  if (index_.tokens().empty())
    index_ = SuffixIndex(added_);
  else
    index_.append(added());
  added_ = {};
  ++version_;
}

Match DraftHistory::match_at(int64_t place, int32_t length) const {
  const auto behind = std::ranges::upper_bound(begins_, place);
  const auto record = static_cast<int64_t>(behind - begins_.begin()) - 1;
  return {DraftSource::history, length, record, static_cast<int32_t>(place - *(behind - 1))};
}

// Both parts are searched, and the longer match counts (D1). If both are equally long, the newer part has the last
// occurrence and the older part the first one.
Match HistoryMatcher::longest(std::span<const int32_t> context, Occurrence which) {
  follow(context);
  const Found added = in_added(which), indexed = in_index(context, which);
  if (added.length < indexed.length) found_state_ = SuffixAutomaton::kRoot;
  if (indexed.length < added.length) found_range_ = {};
  const bool newer = which == Occurrence::last ? added.length >= indexed.length : added.length > indexed.length;
  if (newer && added.length > 0)
    return history_->match_at(static_cast<int64_t>(history_->indexed_tokens()) + added.end, added.length);
  if (indexed.length > 0) return history_->match_at(indexed.end, indexed.length);
  return {};
}

// Reads the new tokens of the context, or all of them if the history has changed: its new records may have longer
// matches than the old ones.
void HistoryMatcher::follow(std::span<const int32_t> context) {
  const SuffixAutomaton& added = history_->added_;
  if (version_ != history_->version_) {
    version_ = history_->version_;
    read_ = 0;
    state_ = length_ = 0;
  }
  for (; read_ < context.size(); ++read_) {
    // The automaton falls back along its links until the token fits. The length of the match falls with the state.
    int32_t next = SuffixAutomaton::kNone;
    while ((next = added.next(state_, context[read_])) == SuffixAutomaton::kNone && state_ != SuffixAutomaton::kRoot) {
      state_ = added.link(state_);
      length_ = added.length(state_);
    }
    if (next == SuffixAutomaton::kNone) continue;
    state_ = next;
    ++length_;
  }
}

// A state whose strings all end at the end of a record has nothing behind them. A shorter match may have.
HistoryMatcher::Found HistoryMatcher::in_added(Occurrence which) {
  const SuffixAutomaton& added = history_->added_;
  int32_t length = length_;
  found_state_ = SuffixAutomaton::kRoot;
  for (int32_t state = state_; state != SuffixAutomaton::kRoot;) {
    if (const int32_t end = followed_end(state, which); end >= 0) {
      found_state_ = state;
      return {length, end};
    }
    state = added.link(state);
    length = added.length(state);
  }
  return {};
}

// The place among those of the state's strings that a token of the same record follows. -1: there is none.
int32_t HistoryMatcher::followed_end(int32_t state, Occurrence which) {
  SuffixAutomaton& added = history_->added_;
  const auto token_at = [&](int32_t place) { return added.tokens()[static_cast<size_t>(place)]; };
  const auto end_of = [&](int32_t of) { return which == Occurrence::last ? added.last_end(of) : added.first_end(of); };
  // Behind each token of a record stands another token, at least a separator.
  if (const int32_t end = end_of(state); token_at(end + 1) != kSeparator) return end;
  int32_t best = -1;
  added.for_each_next(state, [&](int32_t next) {
    const int32_t place = end_of(next);
    const bool better = best < 0 || (which == Occurrence::last ? place - 1 > best : place - 1 < best);
    if (token_at(place) != kSeparator && better) best = place - 1;
    return true;
  });
  return best;
}

// The index has no state between calls: the longest match is searched anew.
HistoryMatcher::Found HistoryMatcher::in_index(std::span<const int32_t> context, Occurrence which) {
  const SuffixIndex& index = history_->index_;
  const SuffixIndex::Range range = found_range_ = index.longest_match(context);
  if (range.length == 0) return {};
  return {range.length, which == Occurrence::last ? index.last_end(range) : index.first_end(range)};
}

// Strings of a state and one token more end at the places of the state behind that token.
HistoryMatcher::AddedFollowers HistoryMatcher::followers_in_added(int32_t state) {
  SuffixAutomaton& added = history_->added_;
  AddedFollowers found;
  added.for_each_next(state, [&](int32_t next) {
    const int32_t first = added.first_end(next), token = added.tokens()[static_cast<size_t>(first)];
    if (token == kSeparator) return true;
    if (found.token != kSeparator)
      found.followers = Followers::different;
    else
      found = {first == added.last_end(next) ? Followers::once : Followers::same, token};
    return found.followers != Followers::different;
  });
  return found;
}

// Whether one token follows all places of the match, which says how sure a draft is. Both parts must agree.
Followers HistoryMatcher::followers() {
  const bool is_added = found_state_ != SuffixAutomaton::kRoot, is_indexed = found_range_.length > 0;
  if (!is_added && !is_indexed) return Followers::once;
  if (!is_added) return history_->index_.followers(found_range_);
  const AddedFollowers added = followers_in_added(found_state_);
  if (!is_indexed || added.followers == Followers::different) return added.followers;
  const bool same = history_->index_.followers(found_range_) != Followers::different &&
                    history_->index_.token_behind(found_range_.begin) == added.token;
  return same ? Followers::same : Followers::different;
}

}  // namespace tandem
