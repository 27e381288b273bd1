// Holds the keys and values of an engine's texts in pages of the KV cache. It copies pages, and keeps texts in files.
//
// Contract
//   Pages: sequences take them from a pool, and share them with their forks. A page takes memory when it is first
//   written.
//   Memory of devices: copies, trees of drafts and files need a cache in the host's memory (Machine::zero_copy()).
//   Threads: those of its engine's callers, one at a time. Ownership: borrows the model and the activations, which own
//   the cache's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/graph/activations.h"
#include "engine/run/cache/saved_state.h"
#include "engine/run/cache/sequence.h"
#include "engine/run/machine/loaded_model.h"
#include "engine/tensor/activation.h"
#include "sync/output_file.h"

namespace tandem {

class TextCache {
 public:
  // act: part of what a saved state depends on.
  TextCache(const LoadedModel& model, const Activations& activations, ActType act);

  // An empty sequence. It may outlive its engine, but is of no use then.
  Sequence new_sequence() const { return Sequence(pages_); }
  // A sequence that begins with the first `most` tokens of another one. On devices that keep the cache in memory of
  // their own, no part of a page can be copied. There the fork has the tokens of whole pages only.
  Sequence fork(const Sequence& from, int64_t most) const;
  // Appends the tokens of a path of the sequence's tree, and drops the rest of the tree. path: indices in the tree. The
  // first token follows the text, and each further one is a child of the one before. Keys and values of these tokens
  // are in the cache already. An empty path appends nothing. Error: there is no tree, or it has no such path.
  void accept(Sequence& sequence, std::span<const int32_t> path) const;

  // Texts in files (engine/run/cache/saved_state.h). A file that is refused takes no pages. Error if a device keeps the
  // cache in memory of its own. while_unread: called while a FIFO has no reader; what it throws leaves save().
  void save(const std::string& path, const Sequence& sequence, WhileUnread while_unread = {}) const;
  Sequence load(const std::string& path) const;

  // For engines. make_room() adds pages for `tokens` more tokens of the sequence, and copies a page that it shares.
  // require_memory() is an Error if a control group has no room for the pages of all sequences.
  void make_room(Sequence& sequence, int64_t tokens) const;
  void require_memory();

  bool has_sequences() const { return pages_->free_pages() < pages_->pages(); }  // whether one has pages
  int64_t free_pages() const { return pages_->free_pages(); }                    // pages that no sequence uses
  size_t bytes() const;                                                          // keys and values of one full context

 private:
  void copy_page(const Sequence::PageCopy& copy) const;
  std::string state_description() const;
  SavedState open_state(const std::string& path) const;

  const LoadedModel& model_;
  const Activations& activations_;
  const ActType act_;
  std::shared_ptr<PagePool> pages_;
  int64_t promised_pages_ = 0;  // most pages that were ever in use; memory was promised for them (sync/pool.h)
};

}  // namespace tandem
