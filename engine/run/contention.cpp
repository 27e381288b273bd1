#include "engine/run/contention.h"

#include <filesystem>
#include <sstream>

#include "engine/run/whole_file.h"

namespace tandem {

std::optional<CoreSeconds> core_seconds_in(const std::string& schedstat) {
  std::istringstream in(schedstat);
  double ran = 0, waited = 0;
  if (!(in >> ran >> waited)) return std::nullopt;
  return CoreSeconds{ran * 1e-9, waited * 1e-9};
}

std::optional<CoreSeconds> core_seconds() {
  std::error_code error;
  std::optional<CoreSeconds> all;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::optional<std::string> text;
    try {
      text = read_file_if_there(task.path().string() + "/schedstat");
    } catch (const std::exception&) {
      continue;  // the thread ended meanwhile
    }
    const auto one = text ? core_seconds_in(*text) : std::nullopt;
    if (!one) continue;
    if (!all) all.emplace();
    all->ran += one->ran;
    all->waited += one->waited;
  }
  return all;
}

bool were_contended(const CoreSeconds& before, const CoreSeconds& after) {
  return after.waited - before.waited > (after.ran - before.ran) / 4;
}

bool ContentionWatch::found() const {
  const auto now = core_seconds();
  return before_ && now && were_contended(*before_, *now);
}

}  // namespace tandem
