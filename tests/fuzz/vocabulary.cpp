// A tokenizer from any model file. If there is one, it encodes and decodes texts. The input is the model file.
#include "engine/model/tokenizer/vocabulary.h"

#include <algorithm>
#include <string_view>

#include "engine/model/gguf.h"
#include "engine/model/tokenizer.h"
#include "sync/error.h"
#include "tests/fuzz/one_in.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace tandem::fuzz {
namespace {

constexpr int64_t kMostPieces = 300;

void use(const Tokenizer& tokenizer, Bytes input) {
  const std::string_view file(reinterpret_cast<const char*>(input.data()), input.size());
  const std::string_view end = file.substr(file.size() - std::min<size_t>(file.size(), 64));
  for (const std::string_view text : {std::string_view("<s> hello \xE2\x96\x81 w\xF0\x9F\x98\x80rld</s>\n"), end}) {
    for (const bool special : {false, true}) {
      const std::vector<int32_t> ids = tokenizer.encode(text, {special, special});
      for (const int32_t id : ids) must_hold(id >= 0 && id < tokenizer.size(), "ids are those of tokens");
      tokenizer.decode(ids, special);
    }
  }
  for (int32_t id = 0; id < std::min(tokenizer.size(), kMostPieces); ++id) {
    tokenizer.piece(id, true);
    must_hold(!tokenizer.is_special(id) || tokenizer.piece(id, false).empty(),
              "special tokens have no text of their own");
  }
  must_hold(tokenizer.bos() < tokenizer.size() && tokenizer.eos() < tokenizer.size(), "named tokens exist");
}

}  // namespace

void vocabulary(Bytes input) {
  try {
    const GgufFile file = GgufFile::parse(input, "fuzzed.gguf");
    const Vocabulary vocabulary = load_vocabulary(file);
    // Compiling the patterns of a pre-tokenizer takes a millisecond. They do not depend on the file.
    if (vocabulary.model == TokenizerModel::bpe && !one_in(64, input)) return;
    use(*make_tokenizer(file), input);
  } catch (const Error&) {
  }
}

}  // namespace tandem::fuzz
