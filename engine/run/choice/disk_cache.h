// Measurements that outlive the process: a JSON file of values. A value's key names everything that
// the value depends on.
//
// Contract: a missing or unreadable file is an empty cache, because measuring again is always possible. save() writes
// the file whole or not at all, and keeps values that other processes have added meanwhile. A folder that cannot be
// written is no error. One thread.
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
  explicit DiskCache(std::string path);  // "": no file
  ~DiskCache();
  static std::string default_path();  // ${XDG_CACHE_HOME:-~/.cache}/tandem/measured.json

  std::optional<nlohmann::json> value(const std::string& key) const;  // of any type
  // Calls `take` with each value whose key begins with `prefix`, in the order of the keys.
  void for_each(std::string_view prefix, const std::function<void(const nlohmann::json& value)>& take) const;
  void set(const std::string& key, nlohmann::json value);
  void forget(const std::string& key);  // in this object; the file keeps the value until set() replaces it
  void save() const noexcept;

 private:
  std::string path_;
  // Behind a pointer, so that files that include an engine do not compile the JSON library.
  const std::unique_ptr<nlohmann::json> values_;
  mutable std::set<std::string> changed_;  // keys to be saved
};

}  // namespace tandem
