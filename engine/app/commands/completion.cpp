// `tandem completion`: what a shell asks when a user presses Tab.
#include "engine/app/completion.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "engine/app/command_line.h"
#include "engine/app/commands/commands.h"
#include "engine/app/report.h"

namespace tandem::app {
namespace {

struct CompletionFlags {
  std::string shell;
  std::vector<std::string> words;
};

// One candidate a line, with its explanation behind a tab. The line ":files" says that names of files may come too.
int print_candidates(const std::vector<std::string>& words) {
  const Candidates found = candidates(commands(), words);
  for (const Candidate& each : found.words) std::printf("%s\t%s\n", each.word.c_str(), each.explains.c_str());
  if (found.files) std::printf(":files\n");
  return kDone;
}

int completion_command(const CompletionFlags& flags) {
  if (flags.shell == "words") return print_candidates(flags.words);
  if (!flags.words.empty()) throw WrongUsage("completion " + flags.shell + " takes no further words");
  std::printf("%s", completion_script(flags.shell).c_str());
  return kDone;
}

}  // namespace

void add_completion(CLI::App& app, Action& action) {
  auto flags = std::make_shared<CompletionFlags>();
  app.footer(
      "bash: tandem completion bash > ~/.local/share/bash-completion/completions/tandem\n"
      "zsh:  tandem completion zsh > a folder of $fpath, as _tandem\n"
      "fish: tandem completion fish > ~/.config/fish/completions/tandem.fish");
  app.add_option("SHELL", flags->shell, "the shell whose script is printed; words: answer such a script")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "words"}));
  app.add_option("WORD", flags->words, "for words: the arguments so far, behind --; the last one is being written");
  app.callback([flags, &action] { action = [flags] { return completion_command(*flags); }; });
}

}  // namespace tandem::app
