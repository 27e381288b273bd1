// Texts in an engine: sequences of tokens, their keys and values in pages of the KV cache, and the logits of a pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tandem/types.h"

namespace tandem {

class Activations;
class LoadedModel;
class PagePool;
class PrivateSlots;
class SavedState;

// A tree of drafts: several ways in which a text may continue. One pass runs all its tokens (Engine::extend()), each
// behind its ancestors. Their logits decide which path of the tree is accepted (TextCache::accept()). A token of a tree
// is named by its index. A parent comes before its children.
struct DraftTree {
  std::vector<int32_t> ids;
  std::vector<int32_t> parents;  // one for each token; -1: the token follows the text
};
inline constexpr int64_t kMostDrafts = 64;     // tokens of a tree
inline constexpr int64_t kMostTreeDepth = 32;  // tokens of a path

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

// Tokens that a pass appends to a sequence. Everything is borrowed.
struct Extension {
  Sequence* sequence = nullptr;
  std::span<const int32_t> ids;
  int64_t logit_rows = 1;  // the last `logit_rows` tokens get logits
  // Not empty: the tokens are a tree of drafts, and are not appended. parents[i] is the index in ids of token i's
  // parent; -1 stands for the sequence's last token. Parents come before their children. A tree has at most kMostDrafts
  // tokens, and a path at most kMostTreeDepth.
  std::span<const int32_t> parents{};
};

// The logits of one pass.
//
// Contract
//   Shape: f32 [rows, vocabulary]. Each token that asked for logits has a row, in the order of the pass.
//   Ownership: the values stay valid while a Logits object refers to them, also after later passes and after the
//   engine's end. A pass leaves them in a buffer of the engine. They are copied out of it only if an object still
//   refers to them when the engine overwrites the buffer. So a caller that drops them before the next pass pays
//   nothing. A span of the values is a view, which the engine's next pass ends. Engine::keep_in_place() makes later
//   passes write elsewhere instead, so such a view lives as long as a Logits object.
//   Threads: one at a time, with the calls of the engine.
class Logits {
 public:
  Logits() = default;  // no rows
  std::span<const float> values() const { return state_ ? state_->values : std::span<const float>(); }
  operator std::span<const float>() const { return values(); }
  size_t size() const { return values().size(); }
  const float* data() const { return values().data(); }
  auto begin() const { return values().begin(); }
  auto end() const { return values().end(); }
  float operator[](size_t i) const { return values()[i]; }

 private:
  friend class LogitsBuffers;  // of the engine
  struct State {
    std::span<const float> values;
    std::vector<float> copy{};             // empty: the values lie in the engine's buffer
    std::shared_ptr<const void> memory{};  // the buffer's, of values that are kept in place
  };
  std::shared_ptr<State> state_;
};

// Holds the keys and values of an engine's texts in pages of the KV cache. It copies pages, and keeps texts in files.
//
// Contract
//   Pages: sequences take them from a pool, and share them with their forks. A page takes memory when it is first
//   written.
//   Memory of devices: a card keeps the pages in its own memory, and copies them there (set_home()). For a file they
//   are copied through the host's memory.
//   Threads: those of its engine's callers, one at a time. Ownership: borrows the model and the activations, which own
//   the cache's memory.
class TextCache {
 public:
  // act: part of what a saved state depends on.
  TextCache(const LoadedModel& model, const Activations& activations, ActType act);

  // An empty sequence. It may outlive its engine, but is of no use then.
  Sequence new_sequence() const { return Sequence(pages_); }
  // A sequence that begins with the first `most` tokens of another one.
  Sequence fork(const Sequence& from, int64_t most) const;
  // Appends the tokens of a path of the sequence's tree, and drops the rest of the tree. path: indices in the tree. The
  // first token follows the text, and each further one is a child of the one before. Keys and values of these tokens
  // are in the cache already. An empty path appends nothing. Error: there is no tree, or it has no such path.
  void accept(Sequence& sequence, std::span<const int32_t> path) const;

  // Texts in files. A file that is refused takes no pages.
  // while_unread: called while a FIFO has no reader; what it throws leaves save().
  void save(const std::string& path, const Sequence& sequence, WhileUnread while_unread = {}) const;
  Sequence load(const std::string& path) const;

  // For engines. make_room() adds pages for `tokens` more tokens of the sequence, and copies a page that it shares.
  // require_memory() is an Error if a control group has no room for the pages of all sequences.
  void make_room(Sequence& sequence, int64_t tokens) const;
  void require_memory();

  // For engines. Says where the next pass reads and writes keys and values, and copies the pages in use there. nullptr:
  // in the pool's memory, which the host sees. home: a device's, which outlives its use here.
  void set_home(PrivateSlots* home);

  bool has_sequences() const;  // whether one has pages
  int64_t all_pages() const;   // pages that sequences can use
  int64_t free_pages() const;  // those that no sequence uses
  size_t bytes() const;        // keys and values of one full context

 private:
  void copy_page(const Sequence::PageCopy& copy) const;
  std::string state_description() const;
  SavedState open_state(const std::string& path) const;

  const LoadedModel& model_;
  const Activations& activations_;
  const ActType act_;
  std::shared_ptr<PagePool> pages_;
  PrivateSlots* home_ = nullptr;  // a device of the machine owns it
  int64_t promised_pages_ = 0;    // most pages that were ever in use; memory was promised for them
};

}  // namespace tandem
