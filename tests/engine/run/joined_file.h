// Files in which two matrices are one tensor, as some converters write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "engine/model/gguf.h"
#include "engine/model/gguf_writer.h"

namespace tandem::testing {

// Writes the file at `from` to `to`, with the rows of each tensor `first` in front of those of `second`, under the name
// `joined`. The names follow a layer's prefix. Each of several experts has its rows together.
inline void write_joined(const std::string& from, const std::string& first, const std::string& second,
                         const std::string& joined, const std::string& to) {
  const GgufFile file = GgufFile::open(from);
  GgufWriter writer;
  for (const std::string& key : file.keys()) {
    const GgufStored value = file.require_stored(key);
    writer.raw(key, value.type, {value.bytes.begin(), value.bytes.end()});
  }
  for (const GgufTensor& tensor : file.tensors()) {
    if (tensor.name.ends_with("." + first)) continue;
    std::vector<int64_t> shape(tensor.shape.begin(), tensor.shape.end());
    std::string name = tensor.name;
    ByteSink data;
    if (!name.ends_with("." + second)) {
      data.put_bytes({tensor.data, tensor.data + tensor.bytes});
    } else {
      const std::string prefix = name.substr(0, name.size() - second.size());
      const GgufTensor& before = file.require(prefix + first);
      // A bias has a row for each expert.
      const bool is_bias = name.ends_with(".bias");
      const size_t rows = is_bias ? 0 : 1;
      const size_t count = shape.size() > rows + 1 ? static_cast<size_t>(shape[rows + 1]) : 1;
      for (size_t i = 0; i < count; ++i)
        for (const GgufTensor* one : {&before, &tensor}) {
          const std::byte* begin = one->data + i * (one->bytes / count);
          data.put_bytes({begin, begin + one->bytes / count});
        }
      shape[rows] += before.shape[rows];
      name = prefix + joined;
    }
    writer.tensor(name, shape, tensor.type, data.bytes());
  }
  const std::vector<std::byte> bytes = writer.bytes();
  std::ofstream(to, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace tandem::testing
