// `tandem tokenize`: text to token ids on one line, and back with --decode.
#pragma once

#include "engine/app/command.h"
#include "engine/app/common_flags.h"

namespace tandem::app {

struct TokenizeFlags {
  CommonFlags common;
  bool bos = false;     // add BOS (and EOS) as the file asks for
  bool decode = false;  // the input is ids, the output text
};

void add_tokenize(CLI::App& app, Action& action);
int tokenize_command(const TokenizeFlags& flags);

// Reads ids separated by white space. Error, naming the first word that is no id of the vocabulary.
std::vector<int32_t> parse_ids(const std::string& text, int64_t vocabulary);

}  // namespace tandem::app
