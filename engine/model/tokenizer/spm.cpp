// SentencePiece's merges: the pair with the highest score is joined first. Blanks become a visible character, and bytes
// without a token become tokens of single bytes.
#include "engine/model/tokenizer/spm.h"

#include <algorithm>

#include "engine/model/tokenizer/sentence_piece.h"
#include "engine/model/tokenizer/utf8.h"

namespace tandem {

namespace {

using sentence_piece::kBlank, sentence_piece::replaced;

// Turns each run of blanks into one, and removes blanks at the ends.
std::string without_extra_blanks(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c != ' ' || (!result.empty() && result.back() != ' ')) result += c;
  }
  if (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

// Length of the first word: its blanks and the characters up to the next blank.
size_t word_length(std::string_view text) {
  size_t at = 0;
  while (text.substr(at).starts_with(kBlank)) at += kBlank.size();
  return std::min(text.find(kBlank, at), text.size());
}

}  // namespace

// A part of the word, in a doubly linked list. `size` 0: merged into its left neighbour.
struct SpmModel::Piece {
  const char* begin;
  size_t size;
  int64_t previous, next;  // -1: none
  std::string_view text() const { return {begin, size}; }
};

// A possible merge of two neighbours.
struct SpmModel::Candidate {
  float score;
  int64_t left, right;
  size_t size;  // of both together when pushed; if one has changed since, the candidate is stale

  // Orders a heap whose front has the highest score; among equals, the leftmost.
  bool operator<(const Candidate& other) const {
    return score < other.score || (score == other.score && left > other.left);
  }
};

// Reused from word to word.
struct SpmModel::Scratch {
  std::vector<Piece> pieces;
  std::vector<Candidate> heap;
  // Length of the left part of each possible merge into an unused token, by the text of both. The last one counts, as
  // in SentencePiece.
  std::unordered_map<std::string_view, size_t> left_parts;
};

// Only tokens that text may become are in the table of merges.
SpmModel::SpmModel(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    // Text never merges into tokens of other kinds: "<s>" or "<0x0A>" written by a user is plain text.
    if (vocabulary.kinds[id] != TokenKind::normal && vocabulary.kinds[id] != TokenKind::unused) continue;
    const std::string_view text = vocabulary.texts[id];
    ids_[text] = id;
    longest_ = std::max(longest_, text.size());
    // A token with a blank behind another character reaches into the next word.
    // The parts of an unused token depend on all of the text.
    words_are_apart_ =
        words_are_apart_ && word_length(text) == text.size() && vocabulary.kinds[id] == TokenKind::normal;
  }
}

// No token is longer than the longest one, which saves most look-ups of long unions.
int32_t SpmModel::find(std::string_view text) const {
  if (text.size() > longest_) return -1;
  const auto at = ids_.find(text);
  return at == ids_.end() ? -1 : at->second;
}

// A token, a character that is none, or the parts of an unused token. Parts may be unused tokens too.
void SpmModel::append(std::string_view text, const Scratch& scratch, bool& after_unknown,
                      std::vector<int32_t>& ids) const {
  std::vector<std::string_view> rest = {text};
  while (!rest.empty()) {
    const std::string_view piece = rest.back();
    rest.pop_back();
    const int32_t id = find(piece);
    const bool is_unused = id >= 0 && vocabulary_.kinds[id] == TokenKind::unused;
    const auto parts = is_unused ? scratch.left_parts.find(piece) : scratch.left_parts.end();
    if (parts != scratch.left_parts.end()) {
      rest.push_back(piece.substr(parts->second));
      rest.push_back(piece.substr(0, parts->second));
    } else if (id < 0) {
      append_unmerged(piece, after_unknown, ids);
    } else {
      ids.push_back(id);
      after_unknown = false;
    }
  }
}

// A character that is no token: its bytes, if all have tokens, else one unknown token for the whole run.
void SpmModel::append_unmerged(std::string_view character, bool& after_unknown, std::vector<int32_t>& ids) const {
  const bool has_bytes = sentence_piece::append_bytes(vocabulary_, character, ids);
  if (!has_bytes && !after_unknown && vocabulary_.unknown >= 0) ids.push_back(vocabulary_.unknown);
  after_unknown = !has_bytes;
}

// Begins with one piece for each character. Repeatedly merges the pair whose union is the token of the highest score,
// as in BpeModel::encode_word().
void SpmModel::merge(std::string_view word, Scratch& scratch) const {
  std::vector<Piece>& pieces = scratch.pieces;
  std::vector<Candidate>& heap = scratch.heap;
  pieces.clear();
  heap.clear();
  scratch.left_parts.clear();
  for (size_t at = 0; at < word.size();) {
    const size_t size = utf8::step(word.substr(at)).length;
    const auto index = static_cast<int64_t>(pieces.size());
    pieces.push_back({word.data() + at, size, index - 1, index + 1});
    at += size;
  }
  if (!pieces.empty()) pieces.back().next = -1;

  // Pieces of a list are neighbours in the text, so a union is one run of bytes.
  const auto consider = [&](int64_t left, int64_t right) {
    if (left < 0 || right < 0) return;
    const size_t size = pieces[left].size + pieces[right].size;
    const std::string_view both(pieces[left].begin, size);
    const int32_t id = find(both);
    if (id < 0) return;
    if (vocabulary_.kinds[id] == TokenKind::unused) scratch.left_parts[both] = pieces[left].size;
    heap.push_back({vocabulary_.scores[id], left, right, size});
    std::push_heap(heap.begin(), heap.end());
  };
  for (size_t i = 1; i < pieces.size(); ++i) consider(static_cast<int64_t>(i) - 1, static_cast<int64_t>(i));

  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Candidate best = heap.back();
    heap.pop_back();
    Piece& left = pieces[best.left];
    Piece& right = pieces[best.right];
    // Stale: a merge has changed one of the two since.
    if (left.size == 0 || right.size == 0 || left.size + right.size != best.size) continue;
    left.size = best.size;
    right.size = 0;
    left.next = right.next;
    if (left.next >= 0) pieces[left.next].previous = best.left;
    consider(left.previous, best.left);
    consider(best.left, left.next);
  }
}

// Prepares the blanks as the file asks. Then it merges word by word, or the whole text at once if tokens
// reach past words.
void SpmModel::encode(std::string_view text, bool at_start, std::vector<int32_t>& ids) const {
  std::string prepared = vocabulary_.remove_extra_whitespaces ? without_extra_blanks(text) : std::string(text);
  if (prepared.empty()) return;
  if (at_start && vocabulary_.add_space_prefix) prepared.insert(prepared.begin(), ' ');
  prepared = replaced(prepared, " ", kBlank);

  Scratch scratch;
  bool after_unknown = false;
  for (std::string_view rest = prepared; !rest.empty();) {
    const size_t length = words_are_apart_ ? word_length(rest) : rest.size();
    merge(rest.substr(0, length), scratch);
    for (int64_t i = 0; i >= 0; i = scratch.pieces[i].next)
      append(scratch.pieces[i].text(), scratch, after_unknown, ids);
    rest.remove_prefix(length);
  }
}

std::string SpmModel::bytes(int32_t id) const { return sentence_piece::bytes_of(vocabulary_, id); }

}  // namespace tandem
