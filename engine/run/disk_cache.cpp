#include "engine/run/disk_cache.h"

#include <spdlog/spdlog.h>

#include <filesystem>

#include "engine/device/gpu/kept_file.h"
#include "engine/run/whole_file.h"

namespace tandem {
namespace {

constexpr const char* kFormat = "tandem measurements 1";

struct Content {
  nlohmann::json values = nlohmann::json::object(), doubtful = nlohmann::json::object();
};

Content content_of(const std::string& path) {
  try {
    if (const auto text = read_file_if_there(path)) {
      const nlohmann::json file = nlohmann::json::parse(*text);
      if (file.value("format", "") == kFormat && file.at("values").is_object()) {
        Content content{file.at("values")};
        if (file.contains("doubtful") && file.at("doubtful").is_object()) content.doubtful = file.at("doubtful");
        return content;
      }
    }
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
