#include "engine/device/proof/conversation.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/device/proof/child_process.h"

namespace tandem::proof {
namespace {

constexpr std::chrono::seconds kFarewell{10};

}  // namespace

Conversation::Conversation(ChildTask task) : task_(std::move(task)), wait_(task_.waits_for) {}

// It has its record to write, and then ends: nobody waits for that for long.
Conversation::~Conversation() {
  if (!child_) return;
  try {
    child_->close_input();
    const Clock::time_point begin = Clock::now();
    while (child_->listen([](const std::string&) {}) && Clock::now() - begin < kFarewell) {
    }
  } catch (const std::exception&) {
    // Its memory ran out, or ours; it is ended below.
  }
}

Conversation::Answer Conversation::ask(std::string_view question) {
  // One that had nothing to do may have gone meanwhile.
  for (bool again = child_ != nullptr;; again = false) {
    Answer answer = ask_once(question);
    if (answer.given || !answer.end.well || !again) return answer;
  }
}

Conversation::Answer Conversation::ask_once(std::string_view question) {
  if (!child_) child_ = std::make_unique<ChildProcess>(task_, true);
  try {
    wait_.begin();
    child_->is_heard();
    uint64_t bytes = question.size();
    char length[sizeof bytes];
    std::memcpy(length, &bytes, sizeof bytes);
    Answer answer;
    std::optional<std::string> line;
    const auto take = [&](const std::string& text) { line = text; };
    if (child_->write({length, sizeof length}, wait_) && child_->write(question, wait_)) {
      while (!line && !child_->is_silent() && child_->listen(take)) wait_.look();
    }
    answer.given = line.has_value();
    if (answer.given) answer.line = *std::move(line);
    if (!answer.given) answer.end = child_->end(wait_);
    if (!answer.given) child_.reset();
    wait_.pause();
    return answer;
  } catch (...) {
    child_.reset();
    throw;
  }
}

void Conversation::end() { child_.reset(); }

}  // namespace tandem::proof
