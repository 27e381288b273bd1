// The metadata keys of one architecture ("llama.block_count" ...), read with their ranges checked.
//
// Contract: keys are named without the architecture's prefix. Every Error names file and key, what was found and what
// was expected.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "engine/model/config.h"
#include "engine/model/gguf.h"

namespace tandem {

class ConfigKeys {
 public:
  // Borrows the file.
  ConfigKeys(const GgufFile& file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}

  // A count or width, 1 to `max`; one number, not an array with a number for each layer.
  std::optional<int64_t> size(const char* key, int64_t max) const;
  int64_t require_size(const char* key, int64_t max) const;
  std::optional<double> number(const char* key) const;  // finite
  double require_number(const char* key) const;
  std::optional<std::string> text(const char* key) const;
  std::optional<bool> flag(const char* key) const;
  [[noreturn]] void fail(const char* key, const std::string& problem, const std::string& hint = "") const;

 private:
  std::string full(const char* key) const { return prefix_ + "." + key; }
  void check_single(const char* key) const;

  const GgufFile& file_;
  std::string prefix_;
};

// The keys that all architectures have, and of `known` those that the file has. Error: a key is missing, out of range
// or contradicts another, or asks for a computation that is not known.
ModelConfig read_common_keys(const GgufFile& file, std::span<const char* const> known);
// The rotation's keys; heads and context length are already in `config`.
void read_rope(const ConfigKeys& keys, ModelConfig& config);
// The frequency factors of the tensor "rope_freqs.weight", if the file has it.
void read_rope_factors(const GgufFile& file, ModelConfig& config);

}  // namespace tandem
