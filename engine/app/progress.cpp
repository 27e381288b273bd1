#include "engine/app/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace tandem::app {

namespace {
constexpr int kBarWidth = 24;
constexpr auto kBetweenDraws = std::chrono::milliseconds(50);
}  // namespace

Progress::Progress(std::string label, ProgressUnit unit, bool shown)
    : label_(std::move(label)), unit_(unit), shown_(shown) {}

bool Progress::stderr_is_terminal() { return isatty(STDERR_FILENO) == 1; }

// Bytes are shown in megabytes, tokens and points as counts. The line is cut so that it fits 80 columns.
std::string Progress::line(const std::string& label, ProgressUnit unit, uint64_t done, uint64_t total) {
  const double share = total == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const int filled = static_cast<int>(share * kBarWidth);
  std::string bar(static_cast<size_t>(filled), '=');
  bar += filled < kBarWidth ? ">" : "";
  bar.resize(kBarWidth, ' ');
  char tail[64];
  if (unit == ProgressUnit::bytes) {
    std::snprintf(tail, sizeof(tail), "] %3d %%  %.1f / %.1f MB", static_cast<int>(share * 100),
                  static_cast<double>(done) / 1e6, static_cast<double>(total) / 1e6);
  } else {
    std::snprintf(tail, sizeof(tail), "] %3d %%  %llu / %llu %s", static_cast<int>(share * 100),
                  static_cast<unsigned long long>(done), static_cast<unsigned long long>(total),
                  unit == ProgressUnit::points ? "points" : "tokens");
  }
  return (label + " [" + bar + tail).substr(0, 79);
}

// Draws at most every kBetweenDraws. A complete bar is wiped. Carriage return and ESC [K remove the line that stands
// there, so a shorter line leaves no rest of a longer one.
void Progress::update(uint64_t done, uint64_t total) {
  if (!shown_) return;
  if (done >= total) {
    clear();
    return;
  }
  const auto now = Clock::now();
  if (drawn_ && now - last_ < kBetweenDraws) return;
  last_ = now;
  drawn_ = true;
  std::fprintf(stderr, "\r\033[K%s", line(label_, unit_, done, total).c_str());
  std::fflush(stderr);
}

void Progress::clear() {
  if (!drawn_) return;
  drawn_ = false;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace tandem::app
