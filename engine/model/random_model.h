// Makes models with random weights: a published model's shape as a GGUF file. Speed and memory can be measured with it,
// without the published weights.
//
// Contract: the same shape, type and seed give the same bytes on every machine. Every matrix has random codes. Its
// scales give its values a deviation of 1 / sqrt(columns). So a row times a vector of values of deviation 1 has a
// deviation of about 1, and activations neither vanish nor overflow. No weight is zero more often than another. Text
// that such a model writes means nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/architecture.h"
#include "engine/model/config.h"
#include "engine/model/gguf_writer.h"
#include "engine/tensor/types.h"

namespace tandem {

// The tokens of a SentencePiece vocabulary: <unk> <s> </s>, 256 bytes, a few merges, a blank, letters, then fillers.
struct MadeUpVocabulary {
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<int32_t> types;
};
MadeUpVocabulary made_up_vocabulary(int64_t size);

class RandomModel {
 public:
  // type: of the matrices; norms, biases and routers are F32. If a matrix's rows are no whole blocks of `type`, the
  // matrix is Q8_0 or F16, and replaced() names it.
  RandomModel(const ModelConfig& config, StorageType type, uint64_t seed);

  int64_t parameters() const;
  uint64_t file_bytes() const;
  const std::vector<std::string>& replaced() const { return replaced_; }  // "token_embd.weight: Q8_0"

  // Passes the file to `take` from its first byte to its last, at most about a mebibyte at a time. An exception of
  // `take` ends it.
  void write(const std::function<void(std::span<const std::byte>)>& take) const;

 private:
  struct Tensor {
    std::string name;
    int64_t columns = 0, rows = 1;
    StorageType type = StorageType::f32;
    float mean = 0, deviation = 0;   // of its values
    std::vector<float> values = {};  // F32: these values instead of random ones
    int64_t count = 1;               // matrices of this shape, one behind the other
    uint64_t bytes() const;
  };
  void add_matrix(const std::string& name, int64_t columns, int64_t rows, StorageType type, int64_t count = 1);
  void add_stack(const StackSpec& stack, StorageType type);
  void add_values(const std::string& name, const std::vector<float>& values);
  void add_vector(const VectorSpec& one, float mean, float deviation);
  void add_tensors(const ModelConfig& config, StorageType type);

  uint64_t seed_;
  std::vector<Tensor> tensors_;
  std::vector<std::string> replaced_;
  GgufWriter writer_;
};

}  // namespace tandem
