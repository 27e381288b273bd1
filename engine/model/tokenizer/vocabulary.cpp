// Reads a vocabulary from a model file and checks it. A file can contain anything, so every id and length is checked
// before tokenizers use it.
#include "engine/model/tokenizer/vocabulary.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "engine/model/tokenizer/pre_tokenizer.h"
#include "engine/model/tokenizer/sentence_piece.h"
#include "sync/error.h"

namespace tandem {

namespace {

constexpr std::string_view kPrefix = "tokenizer.ggml.";

// Texts that end a turn or a document in the published chat formats. Files often name only one of their own by id.
constexpr std::string_view kEndTexts[] = {
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|eom|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|endofturn|>",
    "[|endofturn|]",
    "<|END_OF_TURN_TOKEN|>",
    "<|end_of_turn|>",
    "<|observation|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<end_of_utterance>",
    "<｜end▁of▁sentence｜>",
};

std::string key_of(std::string_view name) { return std::string(kPrefix) + std::string(name); }

[[noreturn]] void fail(const Vocabulary& vocabulary, std::string_view key, const std::string& what) {
  throw Error(what, vocabulary.file + ": " + key_of(key), "convert the model again with a current converter");
}

// The names of the models are those that llama.cpp's converter writes.
void read_model(const GgufFile& file, Vocabulary& vocabulary) {
  const std::optional<std::string> model = file.get_string(key_of("model"));
  if (!model) fail(vocabulary, "model", "the file has no tokenizer");
  if (*model == "llama") {
    vocabulary.model = TokenizerModel::spm;
  } else if (*model == "gpt2") {
    vocabulary.model = TokenizerModel::bpe;
  } else if (*model == "bert") {
    vocabulary.model = TokenizerModel::wordpiece;
  } else if (*model == "t5") {
    vocabulary.model = TokenizerModel::unigram;
  } else {
    throw Error(
        "unknown tokenizer model \"" + *model + "\"", vocabulary.file + ": " + key_of("model"),
        "supported: llama (SentencePiece BPE), gpt2 (byte-level BPE), bert (WordPiece), t5 (SentencePiece Unigram)");
  }
}

// Arrays run parallel to the texts, so each must be as long.
void check_length(const Vocabulary& vocabulary, std::string_view key, size_t length) {
  if (length != vocabulary.texts.size()) {
    fail(vocabulary, key,
         "the array has " + std::to_string(length) + " entries for " + std::to_string(vocabulary.texts.size()) +
             " tokens");
  }
}

// Texts and kinds. Without kinds every token is normal.
void read_tokens(const GgufFile& file, Vocabulary& vocabulary) {
  const auto texts = file.get_strings(key_of("tokens"));
  if (!texts || texts->empty()) fail(vocabulary, "tokens", "the vocabulary has no tokens");
  if (texts->size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    fail(vocabulary, "tokens", "the vocabulary has more tokens than ids");
  }
  vocabulary.texts.assign(texts->begin(), texts->end());

  vocabulary.kinds.assign(texts->size(), TokenKind::normal);
  const auto kinds = file.get_ints(key_of("token_type"));
  if (!kinds) return;
  check_length(vocabulary, "token_type", kinds->size());
  for (size_t id = 0; id < kinds->size(); ++id) {
    const int32_t kind = (*kinds)[id];
    if (kind < 0 || kind > 6) {
      fail(vocabulary, "token_type",
           "token " + std::to_string(id) + " has type " + std::to_string(kind) + ", not 0 to 6");
    }
    if (kind != 0) vocabulary.kinds[id] = static_cast<TokenKind>(kind);  // 0: undefined, treated as normal
  }
}

// A SentencePiece vocabulary cannot do without scores: they order merges, or are what is added up.
void read_scores(const GgufFile& file, Vocabulary& vocabulary) {
  const auto scores = file.get_floats(key_of("scores"));
  if (!scores) fail(vocabulary, "scores", "a SentencePiece vocabulary needs scores");
  check_length(vocabulary, "scores", scores->size());
  // Scores are compared, and NaN has no place in an order.
  if (std::any_of(scores->begin(), scores->end(), [](float score) { return std::isnan(score); })) {
    fail(vocabulary, "scores", "a score is not a number");
  }
  vocabulary.scores = *scores;
}

// The byte of a text "<0x00>" to "<0xFF>"; absent for other texts.
std::optional<uint8_t> byte_of(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return std::nullopt;
  unsigned value = 0;
  const char* end = text.data() + 5;
  const auto [stop, error] = std::from_chars(text.data() + 3, end, value, 16);
  if (error != std::errc() || stop != end) return std::nullopt;
  return static_cast<uint8_t>(value);
}

// SentencePiece's own user-defined tokens have U+2581 for blanks. They are looked for in texts, which have blanks.
void show_blanks_of_user_defined_tokens(Vocabulary& vocabulary) {
  for (size_t id = 0; id < vocabulary.texts.size(); ++id)
    if (vocabulary.kinds[id] == TokenKind::user_defined)
      vocabulary.texts[id] = sentence_piece::replaced(vocabulary.texts[id], sentence_piece::kBlank, " ");
}

// A published table is an array of signed or unsigned bytes.
void read_charsmap(const GgufFile& file, Vocabulary& vocabulary) {
  const auto bytes = file.get_ints(key_of("precompiled_charsmap"));
  if (!bytes) return;
  for (const int32_t byte : *bytes) {
    if (byte < -128 || byte > 255) fail(vocabulary, "precompiled_charsmap", "the table of characters has no bytes");
    vocabulary.charsmap += static_cast<char>(byte);
  }
}

// Bytes without a token keep -1. The text of every byte token must have its form, because
// sentence_piece::bytes_of() relies on it.
void read_byte_tokens(Vocabulary& vocabulary) {
  vocabulary.byte_ids.fill(-1);
  for (size_t id = 0; id < vocabulary.texts.size(); ++id) {
    if (vocabulary.kinds[id] != TokenKind::byte) continue;
    const std::optional<uint8_t> byte = byte_of(vocabulary.texts[id]);
    if (!byte) {
      fail(vocabulary, "tokens",
           "byte token " + std::to_string(id) + " is \"" + vocabulary.texts[id] + "\", not <0x00> to <0xFF>");
    }
    vocabulary.byte_ids[*byte] = static_cast<int32_t>(id);
  }
}

// Each merge is two parts with one blank between them. Its index is its rank.
void read_merges(const GgufFile& file, Vocabulary& vocabulary) {
  const auto merges = file.get_strings(key_of("merges"));
  if (!merges) fail(vocabulary, "merges", "a gpt2 vocabulary needs merges");
  vocabulary.merges.reserve(merges->size());
  for (size_t rank = 0; rank < merges->size(); ++rank) {
    const std::string_view merge = (*merges)[rank];
    const size_t blank = merge.find(' ');
    if (blank == std::string_view::npos || blank == 0 || blank + 1 == merge.size() ||
        merge.find(' ', blank + 1) != std::string_view::npos) {
      fail(vocabulary, "merges",
           "merge " + std::to_string(rank) + " is \"" + std::string(merge) + "\", not two parts and a blank");
    }
    vocabulary.merges.emplace_back(merge.substr(0, blank), merge.substr(blank + 1));
  }
}

// The id of a special token. Without the key it is `otherwise`, or -1 if there is no such token.
int32_t read_id(const GgufFile& file, const Vocabulary& vocabulary, std::string_view key, int32_t otherwise) {
  const std::optional<uint64_t> id = file.get_uint(key_of(key));
  if (!id) return otherwise < vocabulary.size() ? otherwise : -1;
  if (*id >= vocabulary.texts.size()) {
    fail(vocabulary, key,
         "id " + std::to_string(*id) + " is out of range: there are " + std::to_string(vocabulary.size()) + " tokens");
  }
  return static_cast<int32_t>(*id);
}

// Texts of BERT are between [CLS] and [SEP]. Files name these tokens by keys of their own, whose second one is spelt as
// here, or in the way of other vocabularies, or by their texts alone. Tokens with these texts are special.
void read_ids_of_bert(const GgufFile& file, Vocabulary& vocabulary) {
  const auto id_of = [&](std::string_view text) {
    const auto at = std::ranges::find(vocabulary.texts, text);
    return at == vocabulary.texts.end() ? -1 : static_cast<int32_t>(at - vocabulary.texts.begin());
  };
  const auto named = [&](std::string_view key, int32_t other, std::string_view text) {
    const int32_t id = read_id(file, vocabulary, key, -1);
    return id >= 0 ? id : other >= 0 ? other : id_of(text);
  };
  vocabulary.bos = named("cls_token_id", vocabulary.bos, "[CLS]");
  vocabulary.eos = named("seperator_token_id", vocabulary.eos, "[SEP]");
  vocabulary.unknown = named("unknown_token_id", -1, "[UNK]");
  for (const int32_t id :
       {vocabulary.bos, vocabulary.eos, id_of("[PAD]"), id_of("[MASK]"), id_of("[CLS]"), id_of("[SEP]")})
    if (id >= 0) vocabulary.kinds[static_cast<size_t>(id)] = TokenKind::control;
  // An unknown word is no text, so its token is none either.
  if (vocabulary.unknown >= 0) vocabulary.kinds[static_cast<size_t>(vocabulary.unknown)] = TokenKind::control;
}

// Ids of the special tokens, and the ends that the file names by id.
void read_ids(const GgufFile& file, Vocabulary& vocabulary) {
  // Ids of SentencePiece vocabularies have defaults: those of Llama, and those of T5.
  const bool spm = vocabulary.model == TokenizerModel::spm, unigram = vocabulary.model == TokenizerModel::unigram;
  vocabulary.bos = read_id(file, vocabulary, "bos_token_id", spm ? 1 : -1);
  vocabulary.eos = read_id(file, vocabulary, "eos_token_id", spm ? 2 : unigram ? 1 : -1);
  vocabulary.unknown = read_id(file, vocabulary, "unknown_token_id", spm ? 0 : unigram ? 2 : -1);
  if (vocabulary.model == TokenizerModel::wordpiece) read_ids_of_bert(file, vocabulary);
  for (const int32_t id :
       {vocabulary.eos, read_id(file, vocabulary, "eot_token_id", -1), read_id(file, vocabulary, "eom_token_id", -1)}) {
    if (id >= 0) vocabulary.ends.insert(id);
  }
}

// Adds every known end text to the ends. It becomes a control token even if the file gives it another type, because its
// text is never output.
void find_ends_by_text(Vocabulary& vocabulary) {
  const auto id_of = [&](std::string_view text) {
    const auto at = std::find(vocabulary.texts.begin(), vocabulary.texts.end(), text);
    return at == vocabulary.texts.end() ? -1 : static_cast<int32_t>(at - vocabulary.texts.begin());
  };
  // If both of these exist, <|end|> closes only one of several messages in a turn.
  const bool several_messages = id_of("<|return|>") >= 0 && id_of("<|call|>") >= 0;
  for (const std::string_view text : kEndTexts) {
    const int32_t id = id_of(text);
    if (id < 0 || (several_messages && text == "<|end|>")) continue;
    vocabulary.ends.insert(id);
    vocabulary.kinds[id] = TokenKind::control;
  }
}

// Phi-3 publishes that its added tokens strip the text to their right, but for three. Files do not say it.
void find_stripping_tokens(const GgufFile& file, Vocabulary& vocabulary) {
  if (vocabulary.model != TokenizerModel::spm || file.get_string("general.architecture") != "phi3") return;
  constexpr std::string_view kKeeping[] = {"<unk>", "<s>", "<|endoftext|>"};
  for (int32_t id = 0; id < vocabulary.size(); ++id)
    if (vocabulary.stands_alone(id) && std::ranges::find(kKeeping, vocabulary.texts[id]) == std::end(kKeeping))
      vocabulary.strips.insert(id);
}

// Whether a token is added at the begin or end of a text. A file may not ask for a token that it does not name.
bool read_add(const GgufFile& file, const Vocabulary& vocabulary, std::string_view key, int32_t id, bool otherwise) {
  const std::optional<bool> add = file.get_bool(key_of(key));
  if (add.value_or(false) && id < 0) fail(vocabulary, key, "the file asks for a token that it does not name");
  return add.value_or(otherwise && id >= 0);
}

}  // namespace

// The order matters: kinds and scores are checked against the texts, ids against their number, and the added tokens
// against the ids.
Vocabulary load_vocabulary(const GgufFile& file) {
  Vocabulary vocabulary;
  vocabulary.file = file.path();
  read_model(file, vocabulary);
  const bool spm = vocabulary.model == TokenizerModel::spm, bert = vocabulary.model == TokenizerModel::wordpiece;
  const bool unigram = vocabulary.model == TokenizerModel::unigram;
  bool adds_bos = spm || bert;
  if (vocabulary.model == TokenizerModel::bpe) {
    vocabulary.pre_tokenizer = file.get_string(key_of("pre")).value_or("default");
    adds_bos = find_pre_tokenizer(vocabulary.pre_tokenizer, vocabulary.file).adds_bos;
  }
  read_tokens(file, vocabulary);
  if (spm || unigram) {
    read_scores(file, vocabulary);
    read_byte_tokens(vocabulary);
    show_blanks_of_user_defined_tokens(vocabulary);
    vocabulary.add_space_prefix = file.get_bool(key_of("add_space_prefix")).value_or(true);
    vocabulary.remove_extra_whitespaces = file.get_bool(key_of("remove_extra_whitespaces")).value_or(unigram);
    if (unigram) read_charsmap(file, vocabulary);
  } else if (bert) {
    vocabulary.add_space_prefix = true;  // a text's first word has no blank before it
  } else {
    read_merges(file, vocabulary);
  }
  read_ids(file, vocabulary);
  find_ends_by_text(vocabulary);
  find_stripping_tokens(file, vocabulary);
  vocabulary.add_bos = read_add(file, vocabulary, "add_bos_token", vocabulary.bos, adds_bos);
  vocabulary.add_eos = read_add(file, vocabulary, "add_eos_token", vocabulary.eos,
                                bert || unigram || vocabulary.pre_tokenizer == kRoberta);
  return vocabulary;
}

}  // namespace tandem
