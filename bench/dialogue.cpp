// Question: how long does a dialogue take in one process, if each turn finds the earlier text in the cache?
//
//   dialogue -m MODEL --answers 16,16,... [--ctx-size N] [--tandem PROGRAM] < TURNS
//
// Each line of standard input is a turn. After it the program generates as many tokens as --answers says for this turn,
// greedily and past the model's end token. It opens the engine as `tandem run` does. PROGRAM compiles missing kernels
// in the background; without it this process compiles them. Standard output has only the answers, as they are
// generated; standard error has the number of tokens at the end. bench/first_contact plays the same turns with its
// peer's interactive mode.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "bench/engines.h"
#include "engine/app/commands/open_engine.h"
#include "engine/run/serve/generate.h"
#include "sync/error.h"

namespace {

struct Options {
  tandem::app::CommonFlags flags;
  std::vector<int64_t> answers;
  std::string tandem;
};

// Each turn gives the engine the whole dialogue. The sequence knows its earlier part, so only the new turn is run.
// Answers have fixed lengths, so that both programs of a comparison do the same work.
int run(const Options& options) {
  tandem::app::EngineNeeds needs;
  needs.may_join_later = !options.tandem.empty();
  needs.program = options.tandem;
  const auto engine = tandem::app::open_engine(options.flags, needs);
  tandem::Sequence text = engine->cache().new_sequence();
  std::vector<int32_t> dialogue;  // all turns and answers so far
  int64_t read = 0, generated = 0;
  for (size_t turn = 0; turn < options.answers.size(); ++turn) {
    std::string line;
    if (!std::getline(std::cin, line))
      throw tandem::Error("there are fewer turns than answers", "standard input", "Give a line for each answer");
    tandem::EncodeOptions encode;
    encode.add_bos_eos = turn == 0;
    encode.parse_special = false;
    const std::vector<int32_t> ids = engine->model().tokenizer().encode(line, encode);
    if (ids.empty()) throw tandem::Error("a turn is empty", "line " + std::to_string(turn + 1));
    dialogue.insert(dialogue.end(), ids.begin(), ids.end());
    tandem::GenerateOptions generate;
    generate.predict = options.answers[turn];
    generate.ignore_end = true;
    generate.on_text = [](std::string_view text) { std::cout << text << std::flush; };
    const tandem::Generation answer = tandem::generate(*engine, text, dialogue, generate);
    if (answer.reason != tandem::StopReason::length)
      throw tandem::Error("an answer ended early", tandem::to_string(answer.reason), "Ask for a larger --ctx-size");
    dialogue.insert(dialogue.end(), answer.ids.begin(), answer.ids.end());
    read += static_cast<int64_t>(ids.size());
    generated += static_cast<int64_t>(answer.ids.size());
  }
  std::fprintf(stderr, "turns %zu, read %lld tokens, generated %lld tokens; plan %s\n", options.answers.size(),
               static_cast<long long>(read), static_cast<long long>(generated), engine->plans().name().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.flags.model = tandem::bench::default_model();
  options.flags.verbosity = -1;
  CLI::App app("dialogue: turns from standard input, answered in one process");
  app.add_option("-m,--model", options.flags.model, "GGUF file; default: the one that ./dev run fetched");
  app.add_option("--answers", options.answers, "tokens of each answer, comma separated")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->required();
  app.add_option("-c,--ctx-size", options.flags.ctx_size, "as tandem's")->check(CLI::Range(0, 1 << 20));
  app.add_option("--tandem", options.tandem, "the program that compiles kernels in the background");
  return tandem::bench::bench_main(app, argc, argv, [&] {
    tandem::bench::require_model(options.flags.model);
    return run(options);
  });
}
