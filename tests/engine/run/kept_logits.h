// Hashes of the logits that whole models gave earlier, bit for bit, from tests/data/kept-logits.txt.
//
// A line has a model, a prompt, the rounding of activations, the cache's type, and the FNV-1a hash of the logits'
// bytes. Plans, devices, kernels and pieces are not in the key: all that keep the numeric contract give one result
// (docs/numbers.md). Bits change only by intention. A failed test prints the new line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <span>
#include <string>

#include "engine/device/gpu/kept_file.h"
#include "engine/run/engine.h"
#include "tests/support/data.h"

namespace tandem::testing {

// The kept lines, from key to hash.
inline const std::map<std::string, std::string>& kept_logits() {
  static const std::map<std::string, std::string> kept = [] {
    std::map<std::string, std::string> found;
    std::ifstream file(repository_data("kept-logits.txt"));
    for (std::string line; std::getline(file, line);) {
      const size_t last = line.rfind(' ');
      if (!line.starts_with('#') && last != std::string::npos) found[line.substr(0, last)] = line.substr(last + 1);
    }
    return found;
  }();
  return kept;
}

inline std::string hash_of(std::span<const float> logits) {
  char text[17];
  const auto* bytes = reinterpret_cast<const char*>(logits.data());
  std::snprintf(text, sizeof text, "%016lx",
                static_cast<unsigned long>(gpu::fnv1a(std::span(bytes, logits.size_bytes()))));
  return text;
}

// Whether the engine's plans and devices give the contract's bits for its activations.
inline bool keeps_the_contract(const Engine& engine) {
  return std::ranges::all_of(engine.contract().other_bits,
                             [](const std::string& reason) { return reason.starts_with("activations stay f32"); });
}

// Compares logits with the kept ones if the engine keeps the contract. Returns whether it compared. `prompt` names the
// tokens: for each model a name stands for one list of tokens.
inline bool expect_kept_logits(const Engine& engine, const std::string& model_path, const std::string& prompt,
                               KvType kv, std::span<const float> logits) {
  if (!keeps_the_contract(engine)) return false;
  const std::string key = model_path.substr(model_path.rfind('/') + 1) + " " + prompt + " act " +
                          to_string(*engine.options().act) + " cache " + (kv == KvType::f16 ? "f16" : "f32");
  const auto kept = kept_logits().find(key);
  EXPECT_EQ(hash_of(logits), kept == kept_logits().end() ? "nothing is kept" : kept->second)
      << "a line of tests/data/kept-logits.txt would be\n"
      << key << ' ' << hash_of(logits);
  return true;
}

}  // namespace tandem::testing
