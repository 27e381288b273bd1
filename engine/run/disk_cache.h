// Measurements that outlive the process: a JSON file of numbers and texts under keys that name everything they depend
// on.
//
// Contract: a missing or unreadable file is an empty cache (measuring again is always possible); save() writes it whole
// or not at all, and a folder that cannot be written is no error. One thread.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

namespace tandem {

class DiskCache {
 public:
  explicit DiskCache(std::string path);  // "": nothing is kept
  static std::string default_path();     // ${XDG_CACHE_HOME:-~/.cache}/tandem/measured.json

  std::optional<double> number(const std::string& key) const;
  std::optional<std::string> text(const std::string& key) const;
  void set(const std::string& key, nlohmann::json value);
  void save() const noexcept;

 private:
  std::string path_;
  nlohmann::json values_ = nlohmann::json::object();
  mutable bool changed_ = false;
};

}  // namespace tandem
