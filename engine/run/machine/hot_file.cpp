#include "engine/run/machine/hot_file.h"

#include <spdlog/spdlog.h>

#include <exception>

#include "sync/whole_file.h"

namespace tandem {

std::string hot_file_of(const std::string& packed_file) { return packed_file + ".hot"; }

std::optional<HotExperts> read_hot_file(const std::string& path, const HotExperts& model, std::string& why) noexcept {
  why.clear();
  try {
    const std::optional<std::string> content = read_file_if_there(path);
    if (!content) return std::nullopt;
    HotExperts hot = parse_hot_experts(*content, path);
    if (of_one_model(hot, model)) return hot;
    why = path + ": it is of another model";
  } catch (const std::exception& error) {
    why = error.what();
  }
  return std::nullopt;
}

// Another program may have written meanwhile, so the earlier counts are read again.
bool write_hot_file(const std::string& path, const HotExperts& now) noexcept {
  if (!has_choices(now)) return false;
  try {
    std::string ignored;
    const std::optional<HotExperts> earlier = read_hot_file(path, now, ignored);
    write_whole_file(path, hot_experts_json(earlier ? uses_behind(*earlier, now) : now));
    return true;
  } catch (const std::exception& error) {
    spdlog::info("the most used experts are not kept for the next start: {}", error.what());
    return false;
  }
}

}  // namespace tandem
