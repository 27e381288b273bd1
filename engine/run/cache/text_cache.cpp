// Keys and values of all texts, page by page. Sequences name pages, and this class copies them where two texts part.
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "engine/graph/activations.h"
#include "engine/run/cache/cache_regions.h"
#include "engine/run/cache/draft_tree.h"
#include "engine/run/cache/page_pool.h"
#include "engine/run/cache/saved_state.h"
#include "engine/run/machine/loaded_model.h"
#include "sync/error.h"
#include "tandem/sequence.h"

namespace tandem {

TextCache::TextCache(const LoadedModel& model, const Activations& activations, ActType act)
    : model_(model),
      activations_(activations),
      act_(act),
      pages_(std::make_shared<PagePool>(activations.sizes.pages)) {}

size_t TextCache::bytes() const {
  size_t sum = 0;
  for (const KvCache& cache : activations_.caches)
    sum += static_cast<size_t>(cache.kv_heads * cache.capacity * (cache.head_dim + cache.head_dim_v)) *
           cache.element_bytes();
  return sum;
}

Sequence TextCache::fork(const Sequence& from, int64_t most) const {
  return from.fork(std::min(most, from.position()));
}

// Only pages in use are copied. The pages of a text that has no token yet are among them, with no content.
void TextCache::set_home(PrivateSlots* home) {
  if (home == home_) return;
  std::vector<int32_t> used;
  for (int32_t page = 0; page < pages_->pages(); ++page)
    if (pages_->users(page) > 0) used.push_back(page);
  const std::vector<Region> regions = regions_of_pages(activations_.caches, used);
  if (home_ != nullptr) home_->fetch(regions);
  if (home != nullptr) home->store(regions);
  home_ = home;
}

// A page that another text shares is exchanged. If its copy on a device fails, the sequence gets the shared page back.
// Otherwise the next call would take a page without content for its text.
void TextCache::make_room(Sequence& sequence, int64_t tokens) const {
  const auto at = static_cast<size_t>(sequence.position() / kCachePage);
  if (at >= sequence.pages().size() || pages_->users(sequence.pages()[at]) == 1) {
    sequence.make_room(tokens);
    return;
  }
  Sequence before = sequence.fork(sequence.position());
  try {
    if (const auto copy = sequence.make_room(tokens)) copy_page(*copy);
  } catch (...) {
    sequence = std::move(before);
    throw;
  }
}

// Copies a shared page, in all layers, before a sequence writes to it.
void TextCache::copy_page(const Sequence::PageCopy& copy) const {
  const std::vector<SlotCopy> copies = copies_of_page(activations_.caches, copy.from, copy.to);
  home_ != nullptr ? home_->copy(copies) : copy_in_pool(copies);
}

// Pages are announced to the pool as texts grow, in proportion to the whole cache. A lack of memory is then an Error
// here, and the system does not end the process in the middle of a pass.
void TextCache::require_memory() {
  const int64_t pages = pages_->pages() - pages_->free_pages();
  if (pages <= promised_pages_) return;
  size_t bytes = 0;
  for (const KvCache& cache : activations_.caches) bytes += cache.k_bytes() + cache.v_bytes();
  const auto more = static_cast<size_t>(pages - promised_pages_);
  model_.machine()->pool().promise(bytes * more / static_cast<size_t>(activations_.sizes.pages), "keys and values");
  promised_pages_ = pages;
}

// A token of the tree lies at the place of its index behind the text. Its keys and values move forward to the place of
// its position, as in a text.
void TextCache::accept(Sequence& sequence, std::span<const int32_t> path) const {
  const DraftTree& tree = sequence.drafts();
  if (tree.ids.empty()) throw Error("a sequence has no tree of drafts", "accept");
  check_path(tree.parents, path);
  const auto cell = [&sequence](int64_t place) {
    return sequence.pages()[static_cast<size_t>(place / kCachePage)] * kCachePage + place % kCachePage;
  };
  std::vector<int32_t> ids;
  std::vector<SlotCopy> copies;  // of a device's own memory
  const auto move = [&](const KvCache& cache, int64_t from, int64_t to) {
    if (home_ == nullptr) return copy_cell(cache, from, to);
    std::ranges::copy(copies_of_cell(cache, from, to), std::back_inserter(copies));
  };
  int64_t position = sequence.position();
  for (const int32_t token : path) {  // never backward, so no copy overwrites a cell that a later one reads
    const int64_t place = sequence.position() + token;
    if (place != position)
      for (const KvCache& cache : activations_.caches) move(cache, cell(place), cell(position));
    ids.push_back(tree.ids[static_cast<size_t>(token)]);
    ++position;
  }
  try {
    if (home_ != nullptr) home_->copy(copies);
  } catch (...) {
    sequence.rewind(sequence.position());  // some tokens of the tree may be overwritten
    throw;
  }
  sequence.append(ids);
  sequence.rewind(position);  // releases pages that only the tree needed
}

std::string TextCache::state_description() const {
  const std::string description =
      describe_state(model_.file(), model_.config(), activations_.sizes.kv_type, to_string(act_));
  model_.file().require_unchanged();  // the description has a hash of the file
  return description;
}

void TextCache::save(const std::string& path, const Sequence& sequence, WhileUnread while_unread) const {
  const auto pages = sequence.pages().first(static_cast<size_t>(pages_of(sequence.position())));
  if (home_ != nullptr) home_->fetch(regions_of_pages(activations_.caches, pages));
  save_state(path, state_description(), sequence.ids(), activations_.caches, pages, std::move(while_unread));
}

SavedState TextCache::open_state(const std::string& path) const {
  SavedState state(path, state_description());
  const int64_t tokens = std::ssize(state.ids()), context = activations_.sizes.context;
  if (tokens > context)
    throw Error("the saved state does not fit the context",
                path + ": " + std::to_string(tokens) + " tokens of " + std::to_string(context),
                "Ask for a larger one with --ctx-size");
  return state;
}

// Takes pages as a pass would, fills them, and appends the tokens last. If the file is refused, the pages go back with
// the sequence.
Sequence TextCache::load(const std::string& path) const {
  const SavedState state = open_state(path);
  Sequence sequence = new_sequence();
  if (!state.ids().empty()) sequence.make_room(std::ssize(state.ids()));
  state.copy_to(activations_.caches, sequence.pages());
  if (home_ != nullptr) home_->store(regions_of_pages(activations_.caches, sequence.pages()));
  sequence.append(state.ids());
  return sequence;
}

bool TextCache::has_sequences() const { return pages_->free_pages() < pages_->pages(); }
int64_t TextCache::all_pages() const { return pages_->pages(); }
int64_t TextCache::free_pages() const { return pages_->free_pages(); }

}  // namespace tandem
