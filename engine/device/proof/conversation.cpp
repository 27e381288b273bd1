#include "engine/device/proof/conversation.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/device/proof/child_process.h"

namespace tandem::proof {
namespace {

constexpr std::chrono::seconds kFarewell{10};  // for a child that ends by itself

}  // namespace

Conversation::Conversation(ChildTask task) : task_(std::move(task)), wait_(task_.waits_for) {}

// The child writes its record and then ends. The destructor waits for that, but not for long.
Conversation::~Conversation() {
  if (!child_) return;
  try {
    child_->close_input();
    const Clock::time_point begin = Clock::now();
    while (child_->listen([](const std::string&) {}) && Clock::now() - begin < kFarewell) {
    }
  } catch (const std::exception&) {
    // This process or the child has no memory left. The child is killed below.
  }
}

Conversation::Answer Conversation::ask(std::string_view question) {
  // A child without questions ends by itself after a while (job_server.h). Its next question goes to a new child, once.
  for (bool again = child_ != nullptr;; again = false) {
    Answer answer = ask_once(question);
    if (answer.given || !answer.end.well || !again) return answer;
  }
}

// Sends the question and reads until a line arrives, the child ends, or it is silent for too long. A child that gives
// no answer is ended, so the next question starts a new one.
Conversation::Answer Conversation::ask_once(std::string_view question) {
  if (!child_) child_ = std::make_unique<ChildProcess>(task_, true);
  try {
    wait_.begin();
    child_->is_heard();
    // A question is its length in eight bytes, and then its text (job_server.cpp reads both).
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

void Conversation::begin_wait(std::string what) { wait_ = LongWait(std::move(what)); }

void Conversation::end() { child_.reset(); }

}  // namespace tandem::proof
