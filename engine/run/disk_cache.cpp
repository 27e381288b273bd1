#include "engine/run/disk_cache.h"

#include <spdlog/spdlog.h>

#include <filesystem>

#include "engine/device/gpu/kept_file.h"
#include "engine/run/whole_file.h"
#include "sync/error.h"
#include "sync/json_text.h"

namespace tandem {
namespace {

constexpr const char* kFormat = "tandem measurements 1";

struct Content {
  nlohmann::json values = nlohmann::json::object(), doubtful = nlohmann::json::object();
};

const nlohmann::json* object_in(const nlohmann::json& file, const char* key) {
  const auto found = file.find(key);
  return found != file.end() && found->is_object() ? &*found : nullptr;
}

Content parsed(const std::string& text) {
  const nlohmann::json file = parse_json(text);
  if (file.is_discarded()) throw Error("expected JSON", "measurements");
  const auto format = file.find("format");
  const nlohmann::json* values = object_in(file, "values");
  if (format == file.end() || *format != kFormat || values == nullptr) return {};
  Content content{*values};
  if (const nlohmann::json* doubtful = object_in(file, "doubtful")) content.doubtful = *doubtful;
  return content;
}

Content content_of(const std::string& path) {
  try {
    if (std::filesystem::exists(path)) return parsed(read_json_file(path, "measurements"));
  } catch (const std::exception& error) {
    spdlog::info("measurements on disk are unreadable and will be made anew: {}: {}", path, error.what());
  }
  return {};
}

}  // namespace

DiskCache::DiskCache(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  Content content = content_of(path_);
  values_ = std::move(content.values);
  for (auto& [key, value] : content.doubtful.items()) {
    if (values_.contains(key)) continue;
    values_[key] = std::move(value);
    doubtful_.insert(key);
  }
}

std::string DiskCache::default_path() {
  const std::string folder = gpu::default_cache_folder();
  return folder.empty() ? "" : folder + "/measured.json";
}

std::optional<double> DiskCache::number(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::optional<std::string> DiskCache::text(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::optional<nlohmann::json> DiskCache::value(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? std::nullopt : std::optional(*found);
}

void DiskCache::for_each(std::string_view prefix, const std::function<void(const nlohmann::json&)>& take) const {
  for (const auto& [key, value] : values_.items()) {
    if (key.starts_with(prefix)) take(value);
  }
}

void DiskCache::set(const std::string& key, nlohmann::json value) {
  values_[key] = std::move(value);
  doubtful_.erase(key);
  changed_.insert(key);
}

void DiskCache::forget(const std::string& key) {
  values_.erase(key);
  doubtful_.erase(key);
  changed_.erase(key);
}

void DiskCache::ignore_doubtful() {
  for (const std::string& key : doubtful_) values_.erase(key);
  doubtful_.clear();
}

void DiskCache::save() const noexcept { save(false); }
void DiskCache::save_as_doubtful() noexcept { save(true); }

void DiskCache::save(bool doubtful) const noexcept {
  if (path_.empty() || changed_.empty()) return;
  try {
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
    Content content = content_of(path_);
    for (const std::string& key : changed_) {
      (doubtful ? content.doubtful : content.values)[key] = values_.at(key);
      if (!doubtful) content.doubtful.erase(key);
    }
    nlohmann::json file{{"format", kFormat}, {"values", std::move(content.values)}};
    if (!content.doubtful.empty()) file["doubtful"] = std::move(content.doubtful);
    write_whole_file(path_, file.dump(1));
    changed_.clear();
  } catch (const std::exception& error) {
    spdlog::info("measurements are not kept: {}", error.what());
  }
}

}  // namespace tandem
