// Shared parts of the tests of chat templates.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/model/chat_template/chat_template.h"

namespace tandem::testing {

inline chat::RenderOptions at_test_time() {
  chat::RenderOptions options;
  options.now = *chat::read_time("2026-02-03T04:05:06");
  return options;
}

inline chat::Text rendering(const std::string& source, const std::string& conversation = "[]") {
  return chat::ChatTemplate(source, "a.jinja").render(chat::Conversation::read(conversation, "m.json"), at_test_time());
}
inline std::string rendered(const std::string& source, const std::string& conversation = "[]") {
  return rendering(source, conversation).bytes();
}

// The error that ends the rendering, or "" if there is none.
inline std::string failure(const std::string& source, const std::string& conversation = "[]") {
  try {
    rendered(source, conversation);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace tandem::testing
