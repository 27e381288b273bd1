// Any text through valid vocabularies of several kinds, and any ids back. The input says which vocabulary and how, and
// then has the text.
#include "engine/model/tokenizer.h"

#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/tokenizer/utf8.h"
#include "sync/error.h"
#include "tests/engine/model/tokenizer/vocabulary_file.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace tandem::fuzz {
namespace {

using tandem::testing::small_bpe;
using tandem::testing::small_spm;
using tandem::testing::VocabularyFile;

struct Kind {
  std::unique_ptr<Tokenizer> tokenizer;
  bool gives_text_back = true;
  bool has_blank_sign = false;  // U+2581 stands for a blank, so the text does not contain it afterwards
};

Kind without_bytes() {
  VocabularyFile file = small_spm();
  for (int32_t& kind : file.kinds()) kind = kind == 6 ? 5 : kind;
  return {file.tokenizer(), false, true};
}

Kind with_tokens_of_its_own(VocabularyFile file, bool spm) {
  file.add("<tool>", 4);
  file.add("  ", 4);
  file.add("<tool", 3);
  file.add("\xF0\x9F", 4);  // half a character
  return {file.tokenizer(), true, spm};
}

Kind without_extra_blanks() {
  VocabularyFile file = small_spm();
  file["remove_extra_whitespaces"] = true;
  file["add_space_prefix"] = false;
  return {file.tokenizer(), false, true};
}

// Some files lack bytes that valid UTF-8 never holds.
Kind bpe_without_some_bytes() {
  VocabularyFile file = small_bpe();
  for (int byte = 0xF0; byte < 256; ++byte) file.texts()[static_cast<size_t>(byte)] = "unused" + std::to_string(byte);
  return {file.tokenizer(), false, false};
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = [] {
    std::vector<Kind> list;
    list.push_back({small_spm().tokenizer(), true, true});
    list.push_back(without_bytes());
    list.push_back(with_tokens_of_its_own(small_spm(), true));
    list.push_back(without_extra_blanks());
    for (const char* pre : {"default", "gpt-2", "llama-bpe", "smollm", "qwen2", "deepseek-llm", "falcon", "gpt-4o"}) {
      list.push_back({small_bpe(pre).tokenizer(), true, false});
    }
    list.push_back(bpe_without_some_bytes());
    list.push_back(with_tokens_of_its_own(small_bpe("llama-bpe"), false));
    return list;
  }();
  return all;
}

// A terminal must get whole characters, for all cuts of the pieces.
void check_stream(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  Utf8Stream by_piece, at_once;
  std::string shown, whole;
  for (const int32_t id : ids) {
    const std::string piece = tokenizer.piece(id, true);
    shown += by_piece.push(piece);
    whole += piece;
  }
  shown += by_piece.flush();
  std::string expected = at_once.push(whole);
  expected += at_once.flush();
  must_hold(shown == expected, "a stream shows the same, whatever the pieces");
  for (size_t at = 0; at < shown.size();) {
    const utf8::Step step = utf8::step(std::string_view(shown).substr(at));
    must_hold(step.kind == utf8::Kind::character, "a stream shows whole characters");
    at += step.length;
  }
}

void check_any_ids(const Tokenizer& tokenizer, std::string_view bytes) {
  std::vector<int32_t> ids(bytes.size() / sizeof(uint16_t));
  for (size_t i = 0; i < ids.size(); ++i) {
    int16_t id = 0;
    std::memcpy(&id, bytes.data() + i * sizeof id, sizeof id);
    ids[i] = id;
  }
  bool in_range = true;
  for (const int32_t id : ids) in_range = in_range && id >= 0 && id < tokenizer.size();
  bool refused = false;
  try {
    tokenizer.decode(ids, false);
  } catch (const Error&) {
    refused = true;
  }
  must_hold(refused != in_range, "ids are refused where they are out of range, and only there");
}

}  // namespace

void tokenizer(Bytes input) {
  if (input.size() < 2) return;
  const Kind& kind = kinds()[std::to_integer<size_t>(input[0]) % kinds().size()];
  const auto how = std::to_integer<unsigned>(input[1]);
  const std::string_view text(reinterpret_cast<const char*>(input.data()) + 2, input.size() - 2);
  if (how & 4) return check_any_ids(*kind.tokenizer, text);
  const EncodeOptions options{(how & 1) != 0, (how & 2) != 0};
  const std::vector<int32_t> ids = kind.tokenizer->encode(text, options);
  for (const int32_t id : ids) must_hold(id >= 0 && id < kind.tokenizer->size(), "ids are those of tokens");
  check_stream(*kind.tokenizer, ids);
  const bool comes_back = kind.gives_text_back && !options.add_bos_eos &&
                          !(kind.has_blank_sign && text.find("\xE2\x96\x81") != std::string_view::npos);
  must_hold(!comes_back || kind.tokenizer->decode(ids, true) == text, "decoding gives the text back");
}

}  // namespace tandem::fuzz
