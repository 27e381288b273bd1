// Holds the keys and values of an engine's texts: pages of the KV cache for its context and for its sequences. It also
// copies pages, and keeps texts in files.
//
// Contract
//   Pages: the context has the cache's first pages. Sequences take theirs from a pool, and share pages with their
//   forks. A page takes memory when it is first written.
//   Memory of devices: copies, trees of drafts and files need a cache in the host's memory (Machine::zero_copy()).
//   Threads: the orchestrator's. Ownership: borrows the model and the activations, which own the cache's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/activations.h"
#include "engine/run/cache/saved_state.h"
#include "engine/run/cache/sequence.h"
#include "engine/run/machine/loaded_model.h"
#include "engine/tensor/activation.h"
#include "sync/output_file.h"

namespace tandem {

class TextCache {
 public:
  // sequences: those besides the context; each may be as long as the context. act: part of what a state depends on.
  TextCache(const LoadedModel& model, const Activations& activations, int64_t sequences, ActType act);

  Sequence new_sequence() const { return Sequence(pages_); }
  // A sequence with the first `most` tokens of another one; only those of whole pages if pages cannot be copied.
  Sequence fork(const Sequence& from, int64_t most) const;
  // Adds pages for `tokens` more tokens of the sequence, and copies a page that it shares.
  void make_room(Sequence& sequence, int64_t tokens) const;
  // Error if a control group has no room for the pages of all sequences and of a context that ends at `end`.
  void require_memory(int64_t end);
  // Appends the tokens of a path of the sequence's tree, as Engine::accept() says.
  void accept(Sequence& sequence, std::span<const int32_t> path) const;

  // States in files (engine/run/cache/saved_state.h). The context's tokens are `ids`, or those of the file.
  void save_context(const std::string& path, std::span<const int32_t> ids, WhileUnread while_unread) const;
  void save(const std::string& path, const Sequence& sequence, WhileUnread while_unread) const;
  std::vector<int32_t> load_context(const std::string& path);
  Sequence load(const std::string& path) const;

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
  std::shared_ptr<PagePool> pages_;  // of sequences; the first pages of the cache belong to the context
  int64_t promised_pages_ = 0;       // most pages that were ever in use; memory was promised for them (sync/pool.h)
};

}  // namespace tandem
