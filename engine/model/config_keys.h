// Reads metadata keys of one architecture ("llama.block_count" ...) and checks their ranges.
//
// Contract: callers name keys without the architecture's prefix. Every Error names the file and the key, what was found
// and what was expected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/config.h"
#include "engine/model/gguf.h"

namespace tandem {

class ConfigKeys {
 public:
  // Borrows the file.
  ConfigKeys(const GgufFile& file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}

  // Instead of one value, a key may have an array with one value for each layer. It counts as that value if all are
  // equal. Otherwise an Error says where they differ, or that their number is not the number of layers.

  // A count or width, 1 to `max`.
  std::optional<int64_t> size(const char* key, int64_t max) const;
  int64_t require_size(const char* key, int64_t max) const;
  int64_t count(const char* key, int64_t max) const;    // 0 to `max`; absent: 0
  std::optional<double> number(const char* key) const;  // finite
  double require_number(const char* key) const;
  std::optional<std::string> text(const char* key) const;
  std::optional<bool> flag(const char* key) const;
  // All values of a number, a bool (0, 1) or an array of them; empty if the key is absent.
  std::vector<double> numbers(const char* key) const;
  // A value of the key, or one that it might have, as messages show it: "true" and "false" for 1 and 0 of a bool.
  std::string shown(const char* key, double value) const;
  [[noreturn]] void fail(const char* key, const std::string& problem, const std::string& hint = "") const;

 private:
  std::string full(const char* key) const { return prefix_ + "." + key; }
  std::optional<double> same_of_all(const char* key) const;
  void require_one_a_layer(const char* key, size_t values, const std::string& what) const;
  template <typename Value>
  Value same_value(const char* key, const std::vector<Value>& all, const std::string& what) const;

  const GgufFile& file_;
  std::string prefix_;
};

// The shortest text that reads back as exactly this number.
std::string printed(double value);

}  // namespace tandem
