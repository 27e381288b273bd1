// Writes GGUF files, key by key and tensor by tensor.
//
// Contract: the same calls give the same bytes on every machine. Nothing is checked, so that tests can write broken
// files too. Everything stays in memory. For a file too large for that, the caller writes header() first and the
// tensors' bytes after it. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "engine/tensor/types.h"

namespace tandem {

// A growing list of bytes.
class ByteSink {
 public:
  template <typename T>
  ByteSink& put(T value) {
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  ByteSink& put_string(const std::string& text) {
    put<uint64_t>(text.size());
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), from, from + text.size());
    return *this;
  }
  ByteSink& put_bytes(const std::vector<std::byte>& more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    return *this;
  }
  ByteSink& pad_to(size_t alignment) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    return *this;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class GgufWriter {
 public:
  uint32_t version = 3;
  uint64_t alignment = 32;  // of the tensor data; writes no key

  GgufWriter& set(const std::string& key, uint16_t value) { return raw(key, 2, ByteSink().put(value).bytes()); }
  GgufWriter& set(const std::string& key, uint32_t value) { return raw(key, 4, ByteSink().put(value).bytes()); }
  GgufWriter& set(const std::string& key, int32_t value) { return raw(key, 5, ByteSink().put(value).bytes()); }
  GgufWriter& set(const std::string& key, uint64_t value) { return raw(key, 10, ByteSink().put(value).bytes()); }
  GgufWriter& set(const std::string& key, float value) { return raw(key, 6, ByteSink().put(value).bytes()); }
  GgufWriter& set(const std::string& key, bool value) { return raw(key, 7, ByteSink().put(uint8_t{value}).bytes()); }
  GgufWriter& set(const std::string& key, const char* value) {
    return raw(key, 8, ByteSink().put_string(value).bytes());
  }
  GgufWriter& set(const std::string& key, const std::string& value) { return set(key, value.c_str()); }
  GgufWriter& set(const std::string& key, const std::vector<std::string>& values) {
    ByteSink sink;
    sink.put<uint32_t>(8).put<uint64_t>(values.size());
    for (const std::string& value : values) sink.put_string(value);
    return raw(key, 9, sink.bytes());
  }
  GgufWriter& set(const std::string& key, const std::vector<float>& values) { return array(key, 6, values); }
  GgufWriter& set(const std::string& key, const std::vector<int32_t>& values) { return array(key, 5, values); }
  GgufWriter& set(const std::string& key, const std::vector<uint32_t>& values) { return array(key, 4, values); }
  // A value of any type number.
  GgufWriter& raw(const std::string& key, uint32_t type, const std::vector<std::byte>& payload) {
    for (Entry& entry : entries_) {
      if (entry.key == key) return entry = {key, type, payload}, *this;
    }
    entries_.push_back({key, type, payload});
    return *this;
  }
  GgufWriter& remove(const std::string& key) {
    std::erase_if(entries_, [&](const Entry& entry) { return entry.key == key; });
    return *this;
  }

  // Adds a tensor, or replaces the one of the same name. Without data, the caller writes its bytes after header(): in
  // the order of the tensors, each at a multiple of `alignment`.
  GgufWriter& tensor(const std::string& name, std::vector<int64_t> shape, StorageType type,
                     std::vector<std::byte> data) {
    const size_t bytes = data.size();
    return add({name, std::move(shape), type, std::move(data), bytes});
  }
  GgufWriter& tensor(const std::string& name, std::vector<int64_t> shape, StorageType type) {
    size_t bytes = row_bytes(type, shape.front());
    for (size_t i = 1; i < shape.size(); ++i) bytes *= static_cast<size_t>(shape[i]);
    return add({name, std::move(shape), type, {}, bytes});
  }
  // For tests that write damaged or incomplete files: removes one tensor.
  GgufWriter& remove_tensor(const std::string& name) {
    std::erase_if(tensors_, [&](const Tensor& tensor) { return tensor.name == name; });
    return *this;
  }

  uint64_t aligned(uint64_t offset) const { return (offset + alignment - 1) / alignment * alignment; }
  // Keys, names and offsets. The bytes of the first tensor follow.
  std::vector<std::byte> header() const {
    ByteSink sink;
    sink.put<uint32_t>(0x46554747).put(version).put<uint64_t>(tensors_.size()).put<uint64_t>(entries_.size());
    for (const Entry& entry : entries_) sink.put_string(entry.key).put(entry.type).put_bytes(entry.payload);
    uint64_t offset = 0;
    for (const Tensor& tensor : tensors_) {
      sink.put_string(tensor.name).put<uint32_t>(static_cast<uint32_t>(tensor.shape.size()));
      for (int64_t dimension : tensor.shape) sink.put(dimension);
      offset = aligned(offset);
      sink.put(static_cast<uint32_t>(tensor.type)).put<uint64_t>(offset);
      offset += tensor.bytes;
    }
    if (!tensors_.empty()) sink.pad_to(alignment);
    return sink.bytes();
  }
  // The whole file. Every tensor must have data.
  std::vector<std::byte> bytes() const {
    ByteSink data;
    for (const Tensor& tensor : tensors_) data.pad_to(alignment).put_bytes(tensor.data);
    return ByteSink().put_bytes(header()).put_bytes(data.bytes()).bytes();
  }

 private:
  struct Entry {
    std::string key;
    uint32_t type;
    std::vector<std::byte> payload;
  };
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
    StorageType type;
    std::vector<std::byte> data;
    uint64_t bytes;
  };
  GgufWriter& add(Tensor added) {
    for (Tensor& tensor : tensors_) {
      if (tensor.name == added.name) return tensor = std::move(added), *this;
    }
    tensors_.push_back(std::move(added));
    return *this;
  }
  template <typename T>
  GgufWriter& array(const std::string& key, uint32_t element, const std::vector<T>& values) {
    ByteSink sink;
    sink.put(element).put<uint64_t>(values.size());
    for (T value : values) sink.put(value);
    return raw(key, 9, sink.bytes());
  }

  std::vector<Entry> entries_;
  std::vector<Tensor> tensors_;
};

}  // namespace tandem
