// A model file's tokenizer: splits off special tokens, and gives the rest to the kind of model that the file names.
#include "engine/model/tokenizer.h"

#include <algorithm>
#include <utility>

#include "engine/model/tokenizer/bpe.h"
#include "engine/model/tokenizer/special_tokens.h"
#include "engine/model/tokenizer/spm.h"
#include "engine/model/tokenizer/unigram.h"
#include "engine/model/tokenizer/vocabulary.h"
#include "engine/model/tokenizer/wordpiece.h"
#include "sync/error.h"

namespace tandem {

namespace {

// Borrows nothing: the vocabulary is copied out of the file, which may be closed.
class GgufTokenizer : public Tokenizer {
 public:
  explicit GgufTokenizer(Vocabulary vocabulary)
      : vocabulary_(std::move(vocabulary)), special_tokens_(vocabulary_), model_(make_model(vocabulary_)) {
    vocabulary_.merges = {};    // the model keeps merges as symbols, in half the memory
    vocabulary_.charsmap = {};  // the model has its own
  }

  // A text by itself: the start token if the file asks for one, the text cut at special tokens, the end token.
  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options) const override {
    std::vector<int32_t> ids;
    if (options.add_bos_eos && vocabulary_.add_bos) ids.push_back(vocabulary_.bos);
    encode(special_tokens_.split(text, options.parse_special ? SpecialKinds::all : SpecialKinds::user_defined), true,
           ids);
    if (options.add_bos_eos && vocabulary_.add_eos) ids.push_back(vocabulary_.eos);
    return ids;
  }

  // Collects plain text across parts until a special token, so that a part's border does not cut a word.
  std::vector<int32_t> encode(std::span<const TextPart> parts) const override {
    std::vector<int32_t> ids;
    std::string plain;  // text since the last special token
    bool at_start = true;
    const auto encode_plain = [&] {
      if (!plain.empty()) at_start = encode(special_tokens_.split(plain, SpecialKinds::no_marks), at_start, ids);
      plain.clear();
    };
    for (const TextPart& part : parts) {
      if (!part.parse_special) {
        plain += part.text;
        continue;
      }
      for (const Fragment& fragment : special_tokens_.split(part.text, SpecialKinds::all)) {
        if (fragment.id < 0) {
          plain += fragment.text;
          continue;
        }
        encode_plain();
        ids.push_back(fragment.id);
        at_start = true;
      }
    }
    encode_plain();
    // A chat template may write the start token itself, even twice. Nobody writes more than one.
    const auto first_other = std::ranges::find_if(ids, [this](int32_t id) { return id != vocabulary_.bos; });
    const bool begins_so = vocabulary_.bos >= 0 && first_other != ids.begin();
    if (begins_so) ids.erase(ids.begin() + 1, first_other);
    if (vocabulary_.add_bos && !begins_so) ids.insert(ids.begin(), vocabulary_.bos);
    return ids;
  }

  // User-defined and unknown tokens show their text as it is in the file.
  std::string piece(int32_t id, bool special) const override {
    check(id);
    if (vocabulary_.is_special(id)) return special ? vocabulary_.texts[id] : std::string();
    if (vocabulary_.stands_alone(id)) return vocabulary_.texts[id];
    return model_->bytes(id);
  }

  // Joins the tokens' bytes. The blank that encode() adds at a beginning is removed again.
  std::string decode(std::span<const int32_t> ids, bool special) const override {
    std::string text;
    bool at_start = true;  // encode() adds a blank there, which is removed again
    for (const int32_t id : ids) {
      const std::string whole = piece(id, special);
      std::string_view bytes = whole;
      const bool stands_alone = vocabulary_.stands_alone(id);
      if (!stands_alone && at_start && vocabulary_.add_space_prefix && bytes.starts_with(' ')) bytes.remove_prefix(1);
      text += bytes;
      at_start = stands_alone;
    }
    return text;
  }

  int64_t size() const override { return vocabulary_.size(); }
  int32_t bos() const override { return vocabulary_.bos; }
  int32_t eos() const override { return vocabulary_.eos; }
  bool is_end(int32_t id) const override { return vocabulary_.ends.contains(id); }
  bool is_special(int32_t id) const override {
    check(id);
    return vocabulary_.is_special(id);
  }

 private:
  // The models of a vocabulary differ in how they cut plain text, and the file names one. All else is shared.
  static std::unique_ptr<TextModel> make_model(const Vocabulary& vocabulary) {
    if (vocabulary.model == TokenizerModel::spm) return std::make_unique<SpmModel>(vocabulary);
    if (vocabulary.model == TokenizerModel::unigram) return std::make_unique<UnigramModel>(vocabulary);
    if (vocabulary.model == TokenizerModel::wordpiece) return std::make_unique<WordPieceModel>(vocabulary);
    return std::make_unique<BpeModel>(vocabulary);
  }

  // Returns whether the next text counts as a beginning: it does after a token that stands for itself.
  bool encode(const std::vector<Fragment>& fragments, bool at_start, std::vector<int32_t>& ids) const {
    for (const Fragment& fragment : fragments) {
      if (fragment.id >= 0) {
        ids.push_back(fragment.id);
        at_start = true;
        continue;
      }
      const bool is_stripped = at_start && !ids.empty() && vocabulary_.strips.contains(ids.back());
      const std::string_view text = is_stripped ? without_leading_white_space(fragment.text) : fragment.text;
      if (text.empty()) continue;  // the next text counts as a beginning, too
      model_->encode(text, at_start, ids);
      at_start = false;
    }
    return at_start;
  }

  // Ids come from users and models, so each is checked before it is an index.
  void check(int32_t id) const {
    if (id >= 0 && id < vocabulary_.size()) return;
    throw Error("token id " + std::to_string(id) + " is out of range", vocabulary_.file,
                "ids go from 0 to " + std::to_string(vocabulary_.size() - 1));
  }

  // The two members below refer to the vocabulary.
  Vocabulary vocabulary_;
  const SpecialTokens special_tokens_;
  const std::unique_ptr<TextModel> model_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(const GgufFile& file) {
  return std::make_unique<GgufTokenizer>(load_vocabulary(file));
}

}  // namespace tandem
