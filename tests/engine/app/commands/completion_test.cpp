// `tandem completion` in the shells that are installed: what a user sees behind Tab.
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

bool is_installed(const std::string& shell) {
  return std::system(("command -v " + shell + " >/dev/null 2>&1").c_str()) == 0;
}

// A command's output; "FAILED" if it fails.
std::string output_of(const std::string& command) {
  FILE* const child = popen(command.c_str(), "r");
  std::string said;
  for (int c = std::fgetc(child); c != EOF; c = std::fgetc(child)) said += static_cast<char>(c);
  return pclose(child) == 0 ? said : "FAILED";
}

// For a line that names the program by a path below the home folder.
std::string at_home() { return "HOME=" + std::filesystem::path(path_of_tandem()).parent_path().string() + " "; }

// The sorted answers of bash's function to a line. compopt works only while a user types, so its complaint is dropped.
// program: as the user writes it.
std::string bash_answers(const std::string& line, const std::string& program = path_of_tandem()) {
  const std::string script = "source <(" + path_of_tandem() + " completion bash); COMP_LINE=\"" + program + " " + line +
                             "\" COMP_POINT=9999; _tandem 2>/dev/null; " +
                             "printf \"%s\\n\" \"${COMPREPLY[@]}\" | sort";
  return output_of("bash -c '" + script + "'");
}

TEST(CompletionCommand, completes_in_bash) {
  if (!is_installed("bash")) GTEST_SKIP() << "bash is not installed";
  EXPECT_EQ(bash_answers("tok"), "tokenize\n");
  EXPECT_EQ(bash_answers("history "), "add\nclear\nstats\n");
  EXPECT_EQ(bash_answers("run --plan ten"), "tensor\n");
  EXPECT_EQ(bash_answers("run --plan=ten"), "tensor\n") << "bash writes what follows the sign of equality";
  EXPECT_EQ(bash_answers("run --device opencl:0,npu:"), "0\n") << "and what follows the colon";
  EXPECT_EQ(bash_answers("run --device ho"), "host\n");
  const std::filesystem::path program = path_of_tandem();
  const char* const home = std::getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  ::setenv("HOME", program.parent_path().c_str(), 1);
  EXPECT_EQ(bash_answers("tok", "~/" + program.filename().string()), "tokenize\n") << "a path below the home folder";
  ::setenv("HOME", before.c_str(), 1);
}

// Both shells get these words for a line.
TEST(CompletionCommand, completes_in_zsh_and_fish) {
  const std::string source =
      "source <(" + path_of_tandem() + " completion zsh); compadd() { print -l -- \"${@:2}\"; }; ";
  const auto zsh_answers = [&](const std::string& words, int count) {
    return output_of("zsh -fc '" + source + "words=(" + path_of_tandem() + " " + words +
                     "); CURRENT=" + std::to_string(count) + "; _tandem'");
  };
  const auto fish_answers = [&](const std::string& line) {
    return output_of("fish -c 'function tandem; " + path_of_tandem() + " $argv; end; " + path_of_tandem() +
                     " completion fish | source; complete -C \"tandem " + line + "\" | cut -f1'");
  };
  if (!is_installed("zsh") && !is_installed("fish")) GTEST_SKIP() << "neither zsh nor fish is installed";
  if (is_installed("zsh")) {
    EXPECT_EQ(zsh_answers("tok", 2), "tokenize\n");
    EXPECT_EQ(zsh_answers("run --plan ten", 4), "tensor\n");
    EXPECT_EQ(zsh_answers("run --device ho", 4), "host\n");
    EXPECT_EQ(output_of(at_home() + "zsh -fc '" + source + "words=(\"~/tandem\" tok); CURRENT=2; _tandem'"),
              "tokenize\n");
  }
  if (is_installed("fish")) {
    EXPECT_EQ(fish_answers("tok"), "tokenize\n");
    EXPECT_EQ(fish_answers("run --plan ten"), "tensor\n");
    EXPECT_EQ(fish_answers("run --device ho"), "host\n");
    EXPECT_EQ(
        output_of(at_home() + "fish -c '~/tandem completion fish | source; complete -C \"~/tandem tok\" | cut -f1'"),
        "tokenize\n");
  }
}

TEST(CompletionCommand, has_scripts_that_zsh_and_fish_can_read) {
  int tried = 0;
  for (const std::string shell : {"zsh", "fish"}) {
    if (!is_installed(shell)) continue;
    const std::string script = path_of_tandem() + " completion " + shell + " | " + shell + " -n /dev/stdin";
    EXPECT_EQ(std::system(script.c_str()), 0) << shell;
    ++tried;
  }
  if (tried == 0) GTEST_SKIP() << "neither zsh nor fish is installed";
}

}  // namespace
}  // namespace tandem::testing
