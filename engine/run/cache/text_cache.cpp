// Keys and values of all texts, page by page. Sequences name pages, and this class copies them where two texts part.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "engine/graph/activations.h"
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

// In a device's own memory no page can be copied. A fork then ends at a whole page, so that nobody writes to a
// shared one.
Sequence TextCache::fork(const Sequence& from, int64_t most) const {
  const int64_t position = std::min(most, from.position());
  return from.fork(model_.machine()->zero_copy() ? position : position / kCachePage * kCachePage);
}

void TextCache::make_room(Sequence& sequence, int64_t tokens) const {
  if (const auto copy = sequence.make_room(tokens)) copy_page(*copy);
}

// Copies a shared page, in all layers, before a sequence writes to it.
void TextCache::copy_page(const Sequence::PageCopy& copy) const {
  TANDEM_CHECK(model_.machine()->zero_copy(), "no sequence shares a part of a page where pages cannot be copied");
  const auto move = [&copy](const KvCache& cache, const Operand& heads, int64_t width) {
    const size_t bytes = cache.page_bytes(width);
    for (int64_t head = 0; head < cache.kv_heads; ++head) {
      auto* first = heads.as<std::byte>() + static_cast<size_t>(head) * cache.head_bytes(width);
      std::memcpy(first + static_cast<size_t>(copy.to) * bytes, first + static_cast<size_t>(copy.from) * bytes, bytes);
    }
  };
  for (const KvCache& cache : activations_.caches) {
    move(cache, cache.k, cache.head_dim);
    move(cache, cache.v, cache.head_dim_v);
  }
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
  int64_t position = sequence.position();
  for (const int32_t token : path) {  // never backward, so no copy overwrites a cell that a later one reads
    const int64_t place = sequence.position() + token;
    if (place != position)
      for (const KvCache& cache : activations_.caches) copy_cell(cache, cell(place), cell(position));
    ids.push_back(tree.ids[static_cast<size_t>(token)]);
    ++position;
  }
  sequence.append(ids);
  sequence.rewind(position);  // releases pages that only the tree needed
}

std::string TextCache::state_description() const {
  const Machine& machine = *model_.machine();
  if (!machine.zero_copy())
    throw Error("a text's keys and values cannot be kept in a file", machine.device_names(),
                "They are in a device's own memory; use devices that share the host's");
  const std::string description =
      describe_state(model_.file(), model_.config(), activations_.sizes.kv_type, to_string(act_));
  model_.file().require_unchanged();  // the description has a hash of the file
  return description;
}

void TextCache::save(const std::string& path, const Sequence& sequence, WhileUnread while_unread) const {
  const auto pages = sequence.pages().first(static_cast<size_t>(pages_of(sequence.position())));
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
  sequence.append(state.ids());
  return sequence;
}

bool TextCache::has_sequences() const { return pages_->free_pages() < pages_->pages(); }
int64_t TextCache::all_pages() const { return pages_->pages(); }
int64_t TextCache::free_pages() const { return pages_->free_pages(); }

}  // namespace tandem
