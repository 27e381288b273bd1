// One text in an engine: its tokens so far, and the pages of the KV cache that hold their keys and values.
//
// Contract
//   A cache makes sequences (TextCache::new_sequence()), and an engine appends tokens to them (Engine::extend()).
//   fork() begins another text with the first tokens of this one, and the two share pages. The one that first writes to
//   a shared page gets a copy of it, so neither sees the tokens that the other one appends. A page is free again when
//   the last sequence that uses it releases it. Drafts: a tree of drafts may lie behind the text. It stays until one of
//   its paths is accepted (TextCache::accept()), or until anything else happens to the sequence. Even rewind() to its
//   end drops the tree. A fork has no tree. Threads: those of its engine's calls. Ownership: a sequence shares the pool
//   of pages with its engine, and may outlive the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/run/cache/draft_tree.h"
#include "engine/run/cache/page_pool.h"

namespace tandem {

class Sequence {
 public:
  explicit Sequence(std::shared_ptr<PagePool> pool) : pool_(std::move(pool)) {}
  ~Sequence() { rewind(0); }
  Sequence(Sequence&& other) noexcept = default;
  Sequence& operator=(Sequence&& other) noexcept;
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  int64_t position() const { return static_cast<int64_t>(ids_.size()); }
  std::span<const int32_t> ids() const { return ids_; }
  // Page i holds positions 256 i to 256 i + 255. There are pages for all tokens, and for those that
  // make_room() expects.
  std::span<const int32_t> pages() const { return pages_; }

  const DraftTree& drafts() const { return drafts_; }  // the tree behind the text; no tokens: no tree

  Sequence fork(int64_t position) const;  // a sequence with the first `position` tokens
  void rewind(int64_t position);          // removes the tokens from there on

  // For engines. make_room() adds pages for `count` more tokens, and makes the page of the first of them this
  // sequence's own. If another sequence shares that page, the caller must copy its content as PageCopy says. append()
  // says that keys and values of these tokens are in their places. draft() says the same of a tree, whose token i has
  // place position() + i.
  struct PageCopy {
    int32_t from = 0, to = 0;
  };
  std::optional<PageCopy> make_room(int64_t count);
  void append(std::span<const int32_t> ids);
  void draft(DraftTree tree);

 private:
  std::shared_ptr<PagePool> pool_;
  std::vector<int32_t> ids_, pages_;
  DraftTree drafts_;
};

}  // namespace tandem
