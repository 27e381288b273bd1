// The loop of a conversation at the terminal: reads messages and commands, and shows answers while they are written. A
// dialogue keeps the conversation; this file only talks to the user.
#include "engine/app/commands/text/chat_terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

#include "engine/app/commands/open_engine.h"
#include "engine/app/commands/text/chat_settings.h"
#include "engine/app/commands/text/dialogue.h"
#include "engine/app/commands/text/draft_report.h"
#include "engine/app/commands/text/draft_texts.h"
#include "engine/app/commands/text/generation.h"
#include "engine/app/commands/text/message_reader.h"
#include "engine/app/commands/text/thought_printer.h"
#include "engine/app/file_flags.h"
#include "engine/app/interrupt.h"
#include "engine/app/text_input.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

constexpr const char* kCommands =
    "/system TEXT     what the model should be; without a text: nothing\n"
    "/again           another answer to the last message\n"
    "/continue        go on with the last answer\n"
    "/undo            take back the last message and its answer\n"
    "/set NAME VALUE  temp, top-k, top-p, min-p, repeat-penalty, predict or seed; /set alone shows them\n"
    "/save FILE       write the conversation; /load FILE reads it\n"
    "/trace FILE      record the next answer: .svg is a picture of its last pass, .json a Perfetto trace\n"
    "/stats           tokens and times so far\n"
    "/quit            end (also Ctrl-D); Ctrl-C ends an answer\n"
    "A line that ends with \\ continues on the next one. Lines between \"\"\" and \"\"\" are one message.\n";

// A conversation on a terminal or in a pipe. Messages go in by lines, and lines that begin with / are commands.
class ChatTerminal {
 public:
  ChatTerminal(const ChatFlags& flags, Engine& engine)
      : flags_(flags),
        engine_(engine),
        draft_texts_(flags.common, engine.model().tokenizer()),
        notes_(flags.common),
        dialogue_(flags.common, engine, flags.thinking()),
        thoughts_(isatty(STDOUT_FILENO) != 0, [](std::string_view text) { std::cout << text << std::flush; }) {
    if (!flags.system.empty()) dialogue_.set_system(flags.system);
    notes_.explain(flags.common.generate.spec.mode, engine);
    draft_texts_.print_notes();
    draft_texts_.give_to(dialogue_.options().spec);
    dialogue_.options().spec.model = open_draft_model(flags.common, engine, 1);
  }

  // An error ends a turn and not the conversation. An interrupt ends the answer that is being written.
  int run() {
    if (messages_.are_typed() && !flags_.common.quiet()) std::fprintf(stderr, "/help lists the commands\n");
    for (std::string text; messages_.next(text);) {
      try {
        take(text);
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
    return failed_ && !messages_.are_typed() ? kFailed : kDone;
  }

 private:
  // Blank lines are no messages.
  void take(const std::string& text) {
    if (text.starts_with('/'))
      command(text);
    else if (text.find_first_not_of(" \t\r\n") != std::string::npos)
      show([&](const Dialogue::Listener& listener) { return dialogue_.answer(text, listener); });
  }

  // Shows one answer as it is written, and records it if /trace asked for that. The answer's line ends even if the turn
  // fails, so that the message of the error has a line of its own.
  template <typename Turn>
  void show(const Turn& turn) {
    CommonFlags recorded;
    recorded.trace = std::exchange(trace_, "");
    TraceFile trace(recorded, engine_);
    const bool had_moved = dialogue_.moved_system();
    bool has_begun = false;
    const auto end = [&] {
      thoughts_.end();
      if (has_begun) std::cout << std::endl;
    };
    const Dialogue::Listener listener = [&](std::string_view piece, bool in_thought) {
      if (!std::exchange(has_begun, true)) thoughts_.begin(in_thought);
      thoughts_.print(piece);
    };
    try {
      const Generation result = turn(listener);
      has_begun = true;
      end();
      if (!flags_.common.quiet()) say_about(result, had_moved);
      notes_.explain_draft_model(result);
      notes_.explain_history(draft_texts_.history_problem());
    } catch (...) {
      end();
      throw;
    }
    trace.finish();
  }

  // Notes after an answer: a system message that moved, a full context, an answer that was cut.
  void say_about(const Generation& result, bool had_moved) {
    if (dialogue_.moved_system() && !had_moved)
      std::fprintf(stderr, "note: the template refuses a system message; its words are put before the first user's\n");
    if (result.reason == StopReason::context_full)
      std::fprintf(stderr,
                   "the context of %lld tokens is full, and the answer is not complete; /undo takes a turn back, "
                   "--ctx-size makes room for more\n",
                   static_cast<long long>(engine_.sizes().context));
    if (result.reason == StopReason::length)
      std::fprintf(stderr,
                   "the answer has the %lld tokens that were asked for; /continue goes on, /set predict -1 takes the "
                   "limit away\n",
                   static_cast<long long>(dialogue_.options().predict));
  }

  // A command is the word behind /, and the rest of the line is its argument.
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
      undo();
    else if (name == "again")
      again();
    else if (name == "continue")
      show([this](const Dialogue::Listener& listener) { return dialogue_.go_on(listener); });
    else if (name == "save")
      write_output(output(rest), dialogue_.to_json(), while_unread(rest));
    else if (name == "load")
      dialogue_.from_json(read_file(required(rest)), rest);
    else if (name == "set")
      set(rest);
    else if (name == "trace")
      set_trace(rest);
    else if (name == "stats")
      stats();
    else
      throw Error("there is no such command", "/" + name, "/help lists the commands; a message cannot begin with /");
  }

  static const std::string& required(const std::string& path) {
    if (path.empty()) throw Error("the command needs the name of a file", "/save, /load, /trace");
    return path;
  }

  // A file that may be written. The model's own file is refused, because writing to it would destroy what
  // is being read.
  const std::string& output(const std::string& path) const {
    std::error_code none;
    if (std::filesystem::equivalent(required(path), flags_.common.model, none))
      throw Error("the file is the model", path, "Name another file");
    return path;
  }

  // The ending of the name chooses a picture or a document.
  void set_trace(const std::string& path) {
    if (!path.ends_with(".svg") && !path.ends_with(".json"))
      throw Error("the command needs the name of a file that ends with .svg or .json", "/trace " + path);
    trace_ = output(path);
  }

  void undo() {
    if (!dialogue_.undo()) throw Error("there is nothing to take back", "the conversation");
  }

  // A seed changes nothing without a temperature, which a user may not know.
  void again() {
    if (dialogue_.options().sampler.temperature == 0 && !flags_.common.quiet())
      std::fprintf(stderr, "note: without a temperature the answer is the same; /set temp 0.7 gives it one\n");
    show([this](const Dialogue::Listener& listener) { return dialogue_.answer_again(listener); });
  }

  // Without a value it shows what is set.
  void set(const std::string& text) {
    if (text.empty())
      std::fprintf(stderr, "%s\n", settings_of(dialogue_.options()).c_str());
    else
      change_setting(dialogue_.options(), text);
  }

  // Totals of the conversation so far. Kept tokens did not run again.
  void stats() const {
    const Dialogue::Totals& sums = dialogue_.totals();
    std::fprintf(stderr, "%lld turns: %lld tokens read, %lld kept from earlier turns, %lld written; device %s\n",
                 static_cast<long long>(sums.turns), static_cast<long long>(sums.read_tokens),
                 static_cast<long long>(sums.kept_tokens), static_cast<long long>(sums.written_tokens),
                 engine_.machine().device_names().c_str());
    std::fprintf(stderr, "%.1f tokens/s read, %.1f tokens/s written; %lld of the context's %lld tokens are in use\n",
                 per_second(sums.read_tokens, sums.read_seconds), per_second(sums.timed_tokens, sums.written_seconds),
                 static_cast<long long>(dialogue_.position()), static_cast<long long>(engine_.sizes().context));
    if (sums.drafts > 0)
      std::fprintf(stderr, "drafts: %lld of %lld accepted\n", static_cast<long long>(sums.accepted_drafts),
                   static_cast<long long>(sums.drafts));
    if (sums.checked_tokens > 0)
      std::fprintf(stderr, "%lld tokens ran again alone and had the same bits\n",
                   static_cast<long long>(sums.checked_tokens));
  }

  const ChatFlags& flags_;
  Engine& engine_;
  const DraftTexts draft_texts_;
  DraftNotes notes_;
  Dialogue dialogue_;
  MessageReader messages_;
  ThoughtPrinter thoughts_;
  std::string trace_;  // a file for the next answer
  bool ended_ = false, failed_ = false;
};

}  // namespace

// One text at a time, so the engine has room for one.
int chat_command(const ChatFlags& flags) {
  apply_verbosity(flags.common);
  const auto engine = open_engine(flags.common, needs_of_texts(flags.common, 1));
  print_notes(flags.common, *engine);
  return ChatTerminal(flags, *engine).run();
}

}  // namespace tandem::app
