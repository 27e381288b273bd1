// Logits as they were: hashes of the bits that whole models gave before, kept in tests/data/kept-logits.txt.
//
// A line is a model, a prompt, what activations are rounded to, the cache's type, and the FNV-1a hash of the logits'
// bytes. Plans, devices, kernels and pieces are no part of it: all that keep the numeric contract give one result
// (docs/numbers.md). Bits change only by intention; a failure prints the line as it would be now.
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

// What is kept, from key to hash.
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
  return std::ranges::all_of(engine.other_bits(),
                             [](const std::string& reason) { return reason.starts_with("activations stay f32"); });
}

// Compares, where the engine keeps the contract. `prompt` names the tokens: one name, one list of tokens for each
// model. Whether there was anything to compare.
inline bool expect_kept_logits(const Engine& engine, const std::string& model_path, const std::string& prompt,
                               KvType kv, std::span<const float> logits) {
  if (!keeps_the_contract(engine)) return false;
  const std::string key = model_path.substr(model_path.rfind('/') + 1) + " " + prompt + " act " +
                          to_string(engine.act()) + " cache " + (kv == KvType::f16 ? "f16" : "f32");
  const auto kept = kept_logits().find(key);
  EXPECT_EQ(hash_of(logits), kept == kept_logits().end() ? "nothing is kept" : kept->second)
      << "a line of tests/data/kept-logits.txt would be\n"
      << key << ' ' << hash_of(logits);
  return true;
}

}  // namespace tandem::testing
