#include "engine/run/choice/disk_cache.h"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/proof/room.h"
#include "sync/error.h"
#include "sync/json_text.h"

namespace tandem {
namespace {

constexpr const char* kFormat = "tandem measurements 1";

// A file of another format has no values. Error if the text is no JSON.
nlohmann::json parsed(const std::string& text) {
  const nlohmann::json file = parse_json(text);
  if (file.is_discarded()) throw Error("expected JSON", "measurements");
  const auto format = file.find("format"), values = file.find("values");
  const bool good = format != file.end() && *format == kFormat && values != file.end() && values->is_object();
  return good ? *values : nlohmann::json::object();
}

// A damaged file is no error, because its values can be measured again.
nlohmann::json values_of(const std::string& path) {
  try {
    if (std::filesystem::exists(path)) return parsed(read_json_file(path, "measurements"));
  } catch (const std::exception& error) {
    spdlog::info("measurements on disk are unreadable and will be made anew: {}: {}", path, error.what());
  }
  return nlohmann::json::object();
}

}  // namespace

DiskCache::DiskCache(std::string path)
    : path_(std::move(path)), values_(std::make_unique<nlohmann::json>(values_of(path_))) {}

DiskCache::~DiskCache() = default;

std::string DiskCache::default_path() {
  const std::string folder = gpu::default_cache_folder();
  return folder.empty() ? "" : folder + "/measured.json";
}

std::optional<nlohmann::json> DiskCache::value(const std::string& key) const {
  const auto found = values_->find(key);
  return found == values_->end() ? std::nullopt : std::optional(*found);
}

void DiskCache::for_each(std::string_view prefix, const std::function<void(const nlohmann::json&)>& take) const {
  for (const auto& [key, value] : values_->items()) {
    if (key.starts_with(prefix)) take(value);
  }
}

// Only values that were set are written, so two processes do not undo each other's.
void DiskCache::set(const std::string& key, nlohmann::json value) {
  (*values_)[key] = std::move(value);
  changed_.insert(key);
}

// A forgotten value stays in the file unless it is set again.
void DiskCache::forget(const std::string& key) {
  values_->erase(key);
  changed_.erase(key);
}

// Reads the file again, because other processes may have written to it, and replaces only the values that
// this object has set.
void DiskCache::save() const noexcept {
  if (path_.empty() || changed_.empty()) return;
  try {
    nlohmann::json values = values_of(path_);
    for (const std::string& key : changed_) values[key] = values_->at(key);
    const std::string text = nlohmann::json{{"format", kFormat}, {"values", std::move(values)}}.dump(1);
    if (const std::string why = gpu::replace_file(path_, {text}); !why.empty())
      return proof::say_not_kept("measurements", why);
    changed_.clear();
  } catch (const std::filesystem::filesystem_error& error) {
    proof::say_not_kept("measurements", path_ + ": " + error.code().message());
  } catch (const std::exception& error) {
    proof::say_not_kept("measurements", error.what());
  }
}

}  // namespace tandem
