// `tandem history`: shows, clears and fills a file of earlier texts (S6). It needs a tokenizer and no engine.
#include "engine/app/commands/drafts/history.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/app/common_flags.h"
#include "engine/app/file_flags.h"
#include "engine/app/report.h"
#include "engine/app/text_input.h"
#include "engine/model/gguf.h"
#include "engine/model/tokenizer.h"
#include "engine/run/serve/history_file.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

// All three parts of the command share these flags.
struct HistoryFlags {
  CommonFlags common;
  std::string path;
  std::vector<std::string> texts;  // files
};

// A path without a file is a mistake of the user's here. For `run` it is a history that begins.
int print_stats(const HistoryFlags& flags) {
  const HistoryFile file(flags.path, HistoryFile::kAnyVocabulary);
  if (!file.exists()) throw Error("there is no such history", flags.path, "`tandem run --history` makes it");
  const HistoryRecords all = file.read();
  const int64_t tokens = std::ssize(all.tokens) - all.records, bytes = file.bytes(), index = file.index().bytes();
  if (flags.common.json) {
    nlohmann::json object = {
        {"records", all.records}, {"tokens", tokens}, {"bytes", bytes}, {"dropped_bytes", all.dropped_bytes}};
    if (index > 0) object["index_bytes"] = index;
    print_json(object);
    return kDone;
  }
  std::printf("%lld records, %lld tokens, %lld bytes", static_cast<long long>(all.records),
              static_cast<long long>(tokens), static_cast<long long>(bytes));
  if (index > 0) std::printf("; index: %lld bytes", static_cast<long long>(index));
  if (all.dropped_bytes > 0)
    std::printf("; %lld bytes belong to no record, because they were cut or damaged",
                static_cast<long long>(all.dropped_bytes));
  std::printf("\n");
  return kDone;
}

// The file stays, so that programs that have it open go on with it.
int clear(const HistoryFlags& flags) {
  HistoryFile(flags.path, HistoryFile::kAnyVocabulary).clear();
  return flags.common.json ? print_stats(flags) : kDone;
}

// Each text is a record of its own.
int add_texts(const HistoryFlags& flags) {
  const GgufFile model = GgufFile::open(flags.common.model);
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(model);
  const HistoryFile file(flags.path, vocabulary_hash(*tokenizer), flags.common.history_mebibytes << 20);
  std::vector<std::vector<int32_t>> records;  // all are read before the first is added
  for (const std::string& path : flags.texts)
    records.push_back(tokenizer->encode(read_file(path), {.add_bos_eos = false, .parse_special = false}));
  for (size_t i = 0; i < records.size(); ++i)
    if (!file.append(records[i]))
      throw Error("the text is longer than the history may be", flags.texts[i],
                  "Give the history more room with --history-max");
  file.update_index();
  model.require_unchanged();
  return flags.common.json ? print_stats(flags) : kDone;
}

// The parts of the command share their flags, and differ in whether they read or write the history.
CLI::App& add_part(CLI::App& app, const char* name, const char* explains, std::shared_ptr<HistoryFlags> flags,
                   Action& action, int (*run)(const HistoryFlags&)) {
  CLI::App& part = *app.add_subcommand(name, explains);
  CLI::Option* file = part.add_option("FILE", flags->path, "the history");
  (run == print_stats ? reads_file(file) : writes_file(file))->required()->option_text("REQUIRED");
  part.add_flag("--json", flags->common.json, "print one JSON object: what the history has then");
  part.callback([flags, &action, run] { action = [flags, run] { return run(*flags); }; });
  return part;
}

}  // namespace

// `history` has three parts. Only `add` needs a model, for its tokenizer.
void add_history(CLI::App& app, Action& action) {
  app.require_subcommand(1);
  add_part(app, "stats", "how many texts a history has", std::make_shared<HistoryFlags>(), action, print_stats);
  add_part(app, "clear", "remove all texts of a history", std::make_shared<HistoryFlags>(), action, clear);
  const auto added = std::make_shared<HistoryFlags>();
  CLI::App& add = add_part(app, "add", "add texts, each as a record", added, action, add_texts);
  add_model_flag(add, added->common);
  reads_file(add.add_option("-f,--file", added->texts, "files of text; each is a record of its own"))
      ->required()
      ->type_name("FILE");
  add_history_max_flag(add, added->common);
}

}  // namespace tandem::app
