#include "engine/device/proof/job_server.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

namespace tandem::proof {
namespace {

using nlohmann::json;
// Keys are written in a pause between questions, because writing takes milliseconds if there are many files.
constexpr int kIdle_ms = 10000, kPause_ms = 1000;
constexpr uint64_t kMostBytes = uint64_t{64} << 20;  // largest question

// False: the input has ended, or reading fails.
bool read_all(char* into, size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = read(STDIN_FILENO, into, bytes);
    if (got <= 0 && errno != EINTR) return false;
    if (got == 0) return false;
    if (got > 0) into += got, bytes -= static_cast<size_t>(got);
  }
  return true;
}

// Nothing: the input has ended, no question came within wait_ms, or the question is too long.
std::optional<std::string> next_question(int wait_ms) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  uint64_t bytes = 0;
  if (poll(&input, 1, wait_ms) <= 0 || !read_all(reinterpret_cast<char*>(&bytes), sizeof bytes) || bytes > kMostBytes)
    return std::nullopt;
  std::string question(bytes, '\0');
  if (!read_all(question.data(), question.size())) return std::nullopt;
  return question;
}

// This process does not read its input while a compiler works. So a thread watches the other side, and ends this
// process when it has gone.
void end_with_the_other_side() {
  std::thread([] {
    pollfd input{STDIN_FILENO, POLLRDHUP, 0};
    while (poll(&input, 1, -1) < 0) {
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));  // time to write what ran well into the record
    _exit(0);
  }).detach();
}

}  // namespace

// New keys are collected while questions come in quick succession. The first second without a question writes them.
void serve_jobs(CompiledFiles& files, const std::function<Performed(const std::string&)>& perform,
                const std::function<void(const std::string&)>& answer) {
  end_with_the_other_side();
  std::vector<uint64_t> new_keys;
  for (;;) {
    auto question = next_question(new_keys.empty() ? kIdle_ms : kPause_ms);
    if (!question && !new_keys.empty()) {
      files.add(std::exchange(new_keys, {}));
      question = next_question(kIdle_ms);
    }
    if (!question) return;
    json line = {{"ok", true}};
    try {
      const Performed done = perform(*question);
      new_keys.insert(new_keys.end(), done.keys.begin(), done.keys.end());
      if (done.tell) line["keys"] = done.keys;
    } catch (const Unwritten& error) {
      line = {{"error", error.what()}, {"unwritten", error.object()}};
    } catch (const Error& error) {
      line = {{"error", error.what()}};
    }
    // A driver's text may be no UTF-8, so bytes that are none are replaced.
    answer(line.dump(-1, ' ', false, json::error_handler_t::replace));
  }
}

}  // namespace tandem::proof
