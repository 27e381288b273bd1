// The words that may come next on a command line of the program, for a shell's completion.
//
// Contract: candidates() declares the named command as the parser does and reads its flags. So a new command, flag or
// name completes without a further line. No file, driver or model is looked at.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/app/command.h"

namespace tandem::app {

struct Candidate {
  std::string word;  // replaces the word that is being written
  std::string explains;
};

struct Candidates {
  std::vector<Candidate> words;
  bool files = false;  // names of files may stand here too
};

// words: the arguments behind the program's name; the last one is being written and may be empty.
Candidates candidates(std::span<const Command> commands, std::span<const std::string> words);

// The script that a shell reads to complete `tandem`. shell: bash, zsh or fish.
std::string completion_script(const std::string& shell);

}  // namespace tandem::app
