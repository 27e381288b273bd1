// Measurements that outlive the process: a JSON file of values under keys that name everything they depend on.
//
// Contract: a missing or unreadable file is an empty cache (measuring again is always possible); save() writes it whole
// or not at all, with what other processes have added meanwhile, and a folder that cannot be written is no error. One
// thread.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace tandem {

class DiskCache {
 public:
  explicit DiskCache(std::string path);  // "": nothing is kept
  ~DiskCache();
  static std::string default_path();  // ${XDG_CACHE_HOME:-~/.cache}/tandem/measured.json

  std::optional<nlohmann::json> value(const std::string& key) const;  // of any type
  // Every value whose key begins so, in the order of their keys.
  void for_each(std::string_view prefix, const std::function<void(const nlohmann::json& value)>& take) const;
  void set(const std::string& key, nlohmann::json value);
  void forget(const std::string& key);  // here; on disk it stays until it is set anew
  void save() const noexcept;

 private:
  std::string path_;
  // Behind a pointer: whoever includes an engine would compile the whole library.
  const std::unique_ptr<nlohmann::json> values_;
  mutable std::set<std::string> changed_;  // keys to be saved
};

}  // namespace tandem
