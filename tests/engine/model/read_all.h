// Reads everything that a user of a GGUF file may read. A fuzzer checks that the reader survives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/gguf.h"
#include "engine/model/loading.h"
#include "engine/model/weights.h"
#include "sync/error.h"

namespace tandem::testing {

// A number that depends on all metadata and on both ends of every tensor.
inline uint64_t read_all(const GgufFile& file) {
  uint64_t sum = file.file_bytes() + file.version();
  for (const std::string& key : file.keys()) {
    const auto attempt = [&](auto&& read) {
      try {
        sum += read();
      } catch (const Error&) {
        ++sum;  // the key has another type
      }
    };
    attempt([&] { return file.get_uint(key).value(); });
    attempt([&] { return file.get_float(key).value() > 0 ? 1 : 0; });
    attempt([&] { return file.get_bool(key).value() ? 1 : 0; });
    attempt([&] { return file.get_string(key).value().size(); });
    attempt([&] { return file.get_ints(key).value().size(); });
    attempt([&] { return file.get_floats(key).value().size(); });
    attempt([&] {
      uint64_t letters = 0;
      const std::vector<std::string_view> texts = file.get_strings(key).value();
      for (std::string_view text : texts) {
        for (char letter : text) letters += static_cast<unsigned char>(letter);
      }
      return letters;
    });
  }
  for (const GgufTensor& tensor : file.tensors()) {
    sum += std::to_integer<uint64_t>(tensor.data[0]) + std::to_integer<uint64_t>(tensor.data[tensor.bytes - 1]);
  }
  return sum;
}

// Reads and loads the bytes as far as possible. Returns true for a whole model and false for a tandem::Error. Any other
// exception leaves the function.
inline bool read_as_model(std::span<const std::byte> bytes) {
  try {
    const GgufFile file = GgufFile::parse(bytes, "fuzzed.gguf");
    volatile uint64_t sum = read_all(file);
    static_cast<void>(sum);
    sync::Pool pool;
    load_model(file, pool, 1);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace tandem::testing
