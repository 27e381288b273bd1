#include "engine/app/line_editor.h"

#ifdef TANDEM_HAS_LIBEDIT
#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <cwchar>
#include <new>
#else
#include <cstdio>

#include "engine/app/line_reader.h"
#endif

#include "engine/app/interrupt.h"
#include "sync/long_wait.h"

namespace tandem::app {

#ifdef TANDEM_HAS_LIBEDIT

// libedit keeps this between two lines.
struct LineEditor::State {
  EditLine* editor = nullptr;
  History* history = nullptr;
  HistEvent event{};
  std::string prompt;
  std::mbstate_t partial{};  // of a character whose bytes have not all arrived

  ~State() {
    if (editor != nullptr) el_end(editor);
    if (history != nullptr) history_end(history);
  }
};

namespace {

// One byte of the terminal. Waits in short steps, so that Ctrl-C is noticed. False: Ctrl-C, or the end.
bool read_byte(char& byte) {
  for (;;) {
    if (interrupted()) return false;
    pollfd ready{STDIN_FILENO, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(kLookEvery.count())) <= 0) continue;
    const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
    if (count == 1) return true;
    if (count == 0 || (errno != EINTR && errno != EAGAIN)) return false;
  }
}

// libedit's form of a reader: 1 with a character, or 0.
int read_character(EditLine* editor, wchar_t* character) {
  void* client = nullptr;
  el_get(editor, EL_CLIENTDATA, &client);
  std::mbstate_t& partial = static_cast<LineEditor::State*>(client)->partial;
  for (char byte = 0; read_byte(byte);) {
    const size_t taken = std::mbrtowc(character, &byte, 1, &partial);
    if (taken == static_cast<size_t>(-2)) continue;
    if (taken == static_cast<size_t>(-1)) {
      partial = {};
      *character = L'\xFFFD';
    }
    return 1;
  }
  partial = {};
  return 0;
}

// libedit asks for the prompt by a function without state of its own, so the state comes from its client data.
char* prompt_of(EditLine* editor) {
  void* client = nullptr;
  el_get(editor, EL_CLIENTDATA, &client);
  return static_cast<LineEditor::State*>(client)->prompt.data();
}

// Characters are those of UTF-8, whatever the environment says.
void use_utf8() {
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
}

}  // namespace

// Keys are those of emacs, and signals stay with the program. Ctrl-R searches earlier lines, as in shells.
LineEditor::LineEditor() : state_(std::make_unique<State>()) {
  constexpr int kLines = 1000;
  use_utf8();
  State& state = *state_;
  state.editor = el_init("tandem", stdin, stderr, stderr);
  state.history = history_init();
  if (state.editor == nullptr || state.history == nullptr) throw std::bad_alloc();
  history(state.history, &state.event, H_SETSIZE, kLines);
  history(state.history, &state.event, H_SETUNIQUE, 1);
  el_set(state.editor, EL_CLIENTDATA, static_cast<void*>(&state));
  el_set(state.editor, EL_EDITOR, "emacs");
  el_set(state.editor, EL_SIGNAL, 0);
  el_set(state.editor, EL_HIST, history, state.history);
  el_set(state.editor, EL_PROMPT, prompt_of);
  el_set(state.editor, EL_GETCFN, read_character);
  el_set(state.editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_set(state.editor, EL_BIND, "\\e[3~", "ed-delete-next-char", nullptr);
  el_set(state.editor, EL_BIND, "\\e[1;5C", "em-next-word", nullptr);
  el_set(state.editor, EL_BIND, "\\e[1;5D", "ed-prev-word", nullptr);
}

// The size of the terminal may have changed since the last line. A typed line becomes the newest of the history.
std::optional<std::string> LineEditor::next(const std::string& prompt) {
  state_->prompt = prompt;
  el_resize(state_->editor);
  int count = 0;
  const char* const typed = el_gets(state_->editor, &count);
  if (typed == nullptr || count <= 0) return std::nullopt;
  std::string line(typed);
  if (line.ends_with('\n')) line.pop_back();
  if (!line.empty()) history(state_->history, &state_->event, H_ENTER, line.c_str());
  return line;
}

#else

// Without libedit lines are read as they are typed, and the terminal edits them.
struct LineEditor::State {
  LineReader lines{"-"};
};

LineEditor::LineEditor() : state_(std::make_unique<State>()) { state_->lines.expect_person(); }
std::optional<std::string> LineEditor::next(const std::string& prompt) {
  std::fputs(prompt.c_str(), stderr);
  std::string line;
  if (state_->lines.next(line, true) != LineReader::Found::line) return std::nullopt;
  return line;
}

#endif

LineEditor::~LineEditor() = default;

}  // namespace tandem::app
