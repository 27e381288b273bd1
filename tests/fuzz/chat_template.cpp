// Any template on a conversation that has every kind of value. The input is the template; a zero byte in it begins the
// conversation's JSON.
#include "engine/model/chat_template/chat_template.h"

#include <string>
#include <string_view>

#include "engine/model/tokenizer/utf8.h"
#include "sync/error.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace tandem::fuzz {
namespace {

constexpr const char* kUsual =
    R"({"messages": [{"role": "system", "content": "S é"}, {"role": "user", "content": " Hi <x> "}, {"role": "assistant",
    "content": null, "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"a": 1, "b": [1.5, null, true]}}}]}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"x": [1, "2"]}}}], "bos_token": "<s>",
    "chat_template_kwargs": {"n": 3, "s": "Straße", "l": [3, 1, 2], "d": {"b": 1, "a": [2]}}})";

// The stretches of a text are the text, and each is valid UTF-8.
void check(const chat::Text& text) {
  std::string all;
  text.each_stretch([&all](std::string_view stretch, chat::Author) {
    must_hold(!stretch.empty(), "no stretch is empty");
    all += stretch;
  });
  must_hold(all == text.bytes(), "the stretches are the text");
  must_hold(utf8::masked(all, '\xFF').find('\xFF') == std::string::npos, "a rendering is valid UTF-8");
}

}  // namespace

void chat_template(Bytes input) {
  const std::string_view bytes(reinterpret_cast<const char*>(input.data()), input.size());
  const size_t mark = bytes.find('\0');
  try {
    const chat::ChatTemplate form(bytes.substr(0, mark), "template");
    const std::string json(mark == std::string_view::npos ? kUsual : bytes.substr(mark + 1));
    chat::RenderOptions options;
    options.now = *chat::read_time("2026-02-03T04:05:06");
    check(form.render(chat::Conversation::read(json, "conversation"), options));
  } catch (const Error&) {
  }
}

}  // namespace tandem::fuzz
