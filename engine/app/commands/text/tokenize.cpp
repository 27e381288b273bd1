// `tandem tokenize`: texts as ids, and ids as texts. Only the head of the model's file is read.
#include "engine/app/commands/text/tokenize.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "engine/app/report.h"
#include "engine/model/gguf.h"
#include "engine/model/tokenizer.h"
#include "sync/error.h"
#include "sync/parse_number.h"

namespace tandem::app {

// A wrong word is refused with its place in the text.
std::vector<int32_t> parse_ids(const std::string& text, int64_t vocabulary) {
  std::vector<int32_t> ids;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::optional<int64_t> id = parse_number<int64_t>(word);
    if (!id) {
      throw Error("cannot read the token ids",
                  "word " + std::to_string(ids.size() + 1) + " is '" + word.substr(0, 40) + "'",
                  "Ids are whole numbers separated by white space");
    }
    if (*id < 0 || *id >= vocabulary) {
      throw Error("cannot read the token ids", "word " + std::to_string(ids.size() + 1) + " is " + word,
                  "This model's ids go from 0 to " + std::to_string(vocabulary - 1));
    }
    ids.push_back(static_cast<int32_t>(*id));
  }
  return ids;
}

// Checks the model file again after its vocabulary has been used. Ids and text go to standard output without anything
// else, so that one call's output is another call's input.
int tokenize_command(const TokenizeFlags& flags) {
  apply_verbosity(flags.common);
  const std::string text = input_text(flags.common.text);
  const GgufFile file = GgufFile::open(flags.common.model);
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(file);
  if (flags.decode) {
    const std::vector<int32_t> ids = parse_ids(text, tokenizer->size());
    const std::string decoded = tokenizer->decode(ids, !flags.common.no_special);
    file.require_unchanged();
    if (flags.common.json) {
      print_json({{"ids", ids}, {"text", decoded}});
    } else {
      std::cout << decoded;
    }
    return kDone;
  }
  EncodeOptions options;
  options.add_bos_eos = flags.bos;
  options.parse_special = !flags.common.no_special;
  const std::vector<int32_t> ids = tokenizer->encode(text, options);
  file.require_unchanged();
  if (flags.common.json) {
    print_json({{"ids", ids}});
    return kDone;
  }
  const char* separator = "";
  for (int32_t id : ids) {
    std::cout << separator << id;
    separator = " ";
  }
  std::cout << "\n";
  return kDone;
}

// A text comes from one place only, which is checked when all flags are known.
void add_tokenize(CLI::App& app, Action& action) {
  auto flags = std::make_shared<TokenizeFlags>();
  add_model_flag(app, flags->common);
  add_text_flags(app, flags->common);
  app.add_flag("--bos", flags->bos, "add the begin and end tokens that the model asks for");
  app.add_flag("--decode", flags->decode, "the input is ids, the output their text");
  add_output_flags(app, flags->common);
  app.callback([flags, &action, &app] {
    require_one_text(app);
    action = [flags] { return tokenize_command(*flags); };
  });
}

}  // namespace tandem::app
