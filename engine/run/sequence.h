// One text in an engine: its tokens so far, and the pages of the KV cache that hold their keys and values.
//
// Contract
//   An engine makes sequences (Engine::new_sequence()) and appends tokens to them (Engine::extend()). fork() begins
//   another text with the first tokens of this one: the two share pages, and the one that first writes to a shared page
//   gets a copy of it, so that neither sees what the other one appends. Pages are given back when the last sequence
//   that has them is gone. Behind the text there may be a tree of drafts, until one of its paths is accepted
//   (Engine::accept()) or anything else happens to the sequence: rewind() to where it stands lets go of it. A fork does
//   not have it. Threads: those of its engine's calls. Ownership: shares the pool of pages with its engine,
//   which it may outlive.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/run/draft_tree.h"
#include "engine/run/page_pool.h"

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
  // Of positions 0 .. 255, 256 .. 511 and so on, as far as there are tokens or room was made.
  std::span<const int32_t> pages() const { return pages_; }

  const DraftTree& drafts() const { return drafts_; }  // behind the text; without tokens: there are none

  Sequence fork(int64_t position) const;  // that begins with the first `position` tokens
  void rewind(int64_t position);          // forgets the tokens from there on

  // For engines. make_room() gives it pages of its own for `count` more tokens; where the first of them goes to a page
  // that others have too, that page's content is to be copied. append() says that they are in their places, and draft()
  // that those of a tree are: token i at place position() + i.
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
