#include "engine/app/commands/text/chat_terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

#include "engine/app/commands/open_engine.h"
#include "engine/app/commands/text/dialogue.h"
#include "engine/app/commands/text/generation.h"
#include "engine/app/interrupt.h"
#include "engine/app/line_reader.h"
#include "engine/app/parameters.h"
#include "engine/app/text_input.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

constexpr const char* kCommands =
    "/system TEXT     what the model should be; without a text: nothing\n"
    "/again           another answer to the last message\n"
    "/undo            take back the last message and its answer\n"
    "/set NAME VALUE  temp, top-k, top-p, min-p, repeat-penalty, predict or seed\n"
    "/save FILE       write the conversation; /load FILE reads it\n"
    "/stats           tokens so far\n"
    "/quit            end (also Ctrl-D); Ctrl-C ends an answer\n"
    "A line that ends with \\ continues on the next one.\n";

// Dims what stands between <think> and </think>. The marks may come in pieces.
class ThoughtPrinter {
 public:
  explicit ThoughtPrinter(bool dims) : dims_(dims) {}
  void print(std::string_view piece) {
    if (!dims_) return put(piece);
    held_ += piece;
    for (;;) {
      const std::string_view mark = in_thought_ ? "</think>" : "<think>";
      const size_t found = held_.find(mark);
      if (found == std::string::npos) break;
      put(std::string_view(held_).substr(0, found));
      put(in_thought_ ? std::string(mark) + "\x1b[0m" : "\x1b[2m" + std::string(mark));
      held_.erase(0, found + mark.size());
      in_thought_ = !in_thought_;
    }
    const size_t kept = std::min(held_.rfind('<'), held_.size());
    put(std::string_view(held_).substr(0, kept));
    held_.erase(0, kept);
    if (held_.size() > 8) put(std::exchange(held_, ""));
  }
  void end() {
    put(std::exchange(held_, ""));
    if (in_thought_) put("\x1b[0m");
    in_thought_ = false;
  }

 private:
  static void put(std::string_view text) { std::cout << text << std::flush; }
  const bool dims_;
  bool in_thought_ = false;
  std::string held_;
};

class ChatTerminal {
 public:
  ChatTerminal(const ChatFlags& flags, Engine& engine)
      : flags_(flags), engine_(engine), dialogue_(flags.common, engine, flags.thinking()), lines_("-") {
    if (!flags.system.empty()) dialogue_.set_system(flags.system);
    if (is_terminal_) lines_.expect_person();
  }

  int run() {
    if (is_terminal_ && !flags_.common.quiet()) std::fprintf(stderr, "/help lists the commands\n");
    for (std::string text; next(text);) {
      try {
        if (text.starts_with('/'))
          command(text);
        else if (text.find_first_not_of(" \t\r\n") != std::string::npos)
          answer(text);
      } catch (const Interrupted&) {
      } catch (const Error& error) {
        failed_ = true;
        std::fprintf(stderr, "tandem: %s\n", error.what());
      }
      forget_interrupt();
      if (ended_ || interrupted()) break;
    }
    if (interrupted()) return kInterrupted;
    // A person has seen the errors; a program has only the status.
    return failed_ && !is_terminal_ ? kFailed : kDone;
  }

 private:
  // A message or command of one or more lines; false: there is none.
  bool next(std::string& text) {
    text.clear();
    for (std::string line;;) {
      if (is_terminal_) std::fprintf(stderr, text.empty() ? "> " : ". ");
      if (lines_.next(line, true) != LineReader::Found::line) {
        if (is_terminal_ && forget_interrupt()) {
          std::fprintf(stderr, "\n");
          text.clear();
          continue;
        }
        return !text.empty();
      }
      if (line.ends_with('\r')) line.pop_back();
      const bool goes_on = line.ends_with('\\');
      if (goes_on) line.pop_back();
      text += line;
      if (!goes_on) return true;
      text += '\n';
    }
  }

  void answer(const std::string& text) {
    ThoughtPrinter printer(isatty(STDOUT_FILENO) != 0);
    const bool had_moved = dialogue_.moved_system();
    const Generation result = dialogue_.answer(text, [&printer](std::string_view piece) { printer.print(piece); });
    printer.end();
    std::cout << std::endl;
    if (flags_.common.quiet()) return;
    if (dialogue_.moved_system() && !had_moved)
      std::fprintf(stderr, "note: the template refuses a system message; its words are put before the first user's\n");
    if (result.reason == StopReason::context_full)
      std::fprintf(stderr,
                   "the context of %lld tokens is full, and the answer is not complete; /undo takes a turn back, "
                   "--ctx-size makes room for more\n",
                   static_cast<long long>(engine_.sizes().context));
    if (result.reason == StopReason::length)
      std::fprintf(stderr, "the answer has the %lld tokens that were asked for; /set predict -1 takes the limit away\n",
                   static_cast<long long>(dialogue_.options().predict));
  }

  void command(const std::string& text) {
    const size_t blank = std::min(text.find_first_of(" \n"), text.size());
    const std::string name = text.substr(1, blank - 1), rest = text.substr(std::min(blank + 1, text.size()));
    if (name == "help")
      std::fputs(kCommands, stderr);
    else if (name == "quit" || name == "exit")
      ended_ = true;
    else if (name == "system")
      dialogue_.set_system(rest);
    else if (name == "undo")
      require(dialogue_.undo(), "there is nothing to take back");
    else if (name == "again")
      require(dialogue_.drop_answer(), "there is no answer yet"), answer("");
    else if (name == "save")
      save(rest);
    else if (name == "load")
      dialogue_.from_json(read_file(required(rest)), rest);
    else if (name == "set")
      set(rest);
    else if (name == "stats")
      stats();
    else
      throw Error("there is no such command", "/" + name, "/help lists the commands; a message cannot begin with /");
  }

  static void require(bool holds, const char* what) {
    if (!holds) throw Error(what, "the conversation");
  }
  static const std::string& required(const std::string& path) {
    if (path.empty()) throw Error("the command needs the name of a file", "/save, /load");
    return path;
  }

  void save(const std::string& path) {
    std::ofstream file(required(path), std::ios::binary);
    file << dialogue_.to_json() << std::flush;
    if (!file) throw Error("cannot write the conversation", path, "Check the folder and its free space");
  }

  void set(const std::string& text) {
    const size_t blank = std::min(text.find(' '), text.size());
    const std::string name = text.substr(0, blank), value = text.substr(std::min(blank + 1, text.size()));
    GenerateOptions& options = dialogue_.options();
    SamplerOptions& sampler = options.sampler;
    const auto number = [&](float& place, double least, double most) {
      const auto read = read_number(value, least, most);
      if (read) place = static_cast<float>(*read);
      return read.has_value();
    };
    bool fits = true;
    if (name == "temp") {
      fits = number(sampler.temperature, 0, 100);
    } else if (name == "top-p") {
      fits = number(sampler.top_p, 0, 1);
    } else if (name == "min-p") {
      fits = number(sampler.min_p, 0, 1);
    } else if (name == "repeat-penalty") {
      fits = number(sampler.repeat_penalty, 0.01, 100);
    } else if (name == "top-k") {
      const auto read = read_whole(value, kTopKRange);
      fits = read.has_value();
      if (read) sampler.top_k = static_cast<int>(*read);
    } else if (name == "predict") {
      const auto read = read_whole(value, kPredictRange);
      fits = read.has_value();
      if (read) options.predict = *read;
    } else if (name == "seed") {
      const auto read = read_seed(value);
      fits = read.has_value();
      if (read) sampler.seed = read->value;
    } else {
      throw Error("there is nothing of that name to set", name,
                  "There are temp, top-k, top-p, min-p, repeat-penalty, predict and seed");
    }
    if (!fits)
      throw Error("the value is out of range", name + " " + value, "See the flag of that name: tandem chat --help");
  }

  void stats() const {
    const Dialogue::Totals& sums = dialogue_.totals();
    std::fprintf(stderr, "%lld turns: %lld tokens read, %lld kept from earlier turns, %lld written; device %s\n",
                 static_cast<long long>(sums.turns), static_cast<long long>(sums.read_tokens),
                 static_cast<long long>(sums.kept_tokens), static_cast<long long>(sums.written_tokens),
                 engine_.machine().device_names().c_str());
  }

  const ChatFlags& flags_;
  Engine& engine_;
  Dialogue dialogue_;
  LineReader lines_;
  const bool is_terminal_ = isatty(STDIN_FILENO) != 0;
  bool ended_ = false, failed_ = false;
};

}  // namespace

int chat_command(const ChatFlags& flags) {
  apply_verbosity(flags.common);
  const auto engine = open_engine(flags.common, needs_of_texts(flags.common, 1));
  print_notes(flags.common, *engine);
  return ChatTerminal(flags, *engine).run();
}

}  // namespace tandem::app
