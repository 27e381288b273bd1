// Many texts for one command (`run`, `eval`): one object per line (--jsonl FILE), or one file each (several -f). The
// command prints one object per text, each on its own line.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/app/line_reader.h"
#include "engine/app/parameters.h"
#include "tandem/generate.h"

namespace tandem::app {

struct ManyPrompts {
  std::string lines;               // --jsonl
  std::vector<std::string> files;  // -f, if there are several
  int64_t parallel = 8;            // texts at a time
  bool unordered = false;          // print answers as they end
  bool is_given() const { return !lines.empty() || !files.empty(); }
};

// For people: "line 3 of prompts.jsonl", "story.txt". name: from Prompts::Asked.
std::string describe(const nlohmann::json& name, const ManyPrompts& many);

// {"prompt": "text", "n_predict": 32, "seed": 7, "prediction": ["text"], "spec": "auto", "json_schema": {}, "grammar":
// "text"}. All but the first are optional, with the ranges of -n, --seed and --spec. A prediction is a text or a list
// of texts. A line has at most one of the last two.
struct PromptLine {
  std::string prompt;
  std::optional<int64_t> predict{};
  std::optional<Seed> seed{};
  std::optional<std::vector<std::string>> predictions{};
  std::optional<SpecMode> spec{};
  std::optional<std::string> json_schema{}, grammar{};
};
// Error if the text is no such object, or has other keys.
PromptLine parse_prompt_line(std::string_view text);

// The texts, one after another.
class Prompts {
 public:
  explicit Prompts(const ManyPrompts& many);

  struct Asked {
    int64_t number = 0;   // counts from 0
    nlohmann::json name;  // {"line": 3}, {"file": "story.txt"}
    std::string text;     // of the line; empty for a file, which parse() reads
  };
  // Begins texts while fewer than `width` are in work. Waits for the next text only if none is in work. False: no more
  // texts will come.
  bool fill(int64_t width, const std::function<int64_t()>& in_work, const std::function<void(const Asked&)>& begin);
  static PromptLine parse(const Asked& asked);  // Error: a broken line, a file that cannot be read

 private:
  LineReader::Found next(Asked& asked, bool may_wait);
  std::vector<std::string> files_;
  std::optional<LineReader> lines_;
  int64_t asked_ = 0, line_ = 0;
};

// Prints answers in the order of the texts, or as they end.
class Answers {
 public:
  explicit Answers(const ManyPrompts& many) : many_(many) {}
  void add(const Prompts::Asked& asked, nlohmann::json answer);
  // Prints {"line" or "file", "error"}, and a line on standard error. `why` is an Error or bad_alloc; other exceptions
  // are thrown on.
  void fail(const Prompts::Asked& asked, const std::exception_ptr& why);
  int64_t failed() const { return failed_; }

 private:
  const ManyPrompts& many_;
  int64_t next_ = 0, failed_ = 0;
  std::map<int64_t, nlohmann::json> waiting_;
};

}  // namespace tandem::app
