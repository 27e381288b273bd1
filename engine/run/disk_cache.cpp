#include "engine/run/disk_cache.h"

#include <spdlog/spdlog.h>

#include <filesystem>

#include "engine/device/gpu/kept_file.h"
#include "engine/run/whole_file.h"

namespace tandem {
namespace {

constexpr const char* kFormat = "tandem measurements 1";

}  // namespace

DiskCache::DiskCache(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  try {
    const auto content = read_file_if_there(path_);
    if (!content) return;
    const nlohmann::json file = nlohmann::json::parse(*content);
    if (file.value("format", "") == kFormat && file.at("values").is_object()) values_ = file.at("values");
  } catch (const std::exception& error) {
    spdlog::info("measurements on disk are unreadable and will be made anew: {}: {}", path_, error.what());
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

void DiskCache::set(const std::string& key, nlohmann::json value) {
  values_[key] = std::move(value);
  changed_ = true;
}

void DiskCache::save() const noexcept {
  if (path_.empty() || !changed_) return;
  try {
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
    write_whole_file(path_, nlohmann::json{{"format", kFormat}, {"values", values_}}.dump(1));
    changed_ = false;
  } catch (const std::exception& error) {
    spdlog::info("measurements are not kept: {}", error.what());
  }
}

}  // namespace tandem
