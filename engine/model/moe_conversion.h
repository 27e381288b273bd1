// A dense model's file made into that of a mixture of experts: real weights to try experts with, where no trained
// mixture is at hand.
//
// Contract: each layer's feed-forward network, gate [I, H], up [I, H] and down [H, I], becomes E experts and a router
// f32 [E, H]; a token goes to k of them, with weights that add up to 1.
//   split: expert e has rows e I/E to (e + 1) I/E of gate and up, and those columns of down times k. With all experts
//     active and equal weights the sum is the dense model's.
//   cloned: every expert is the whole network: whatever the router says, the sum is the dense model's.
// All else is the dense file's, byte for byte, keys and tensors; a split model's parts become one file. Storage types
// stay, and nothing is decoded: down is multiplied by its blocks' scales (engine/tensor/block_scales.h).
// Borrows the file, which outlives it. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/config.h"
#include "engine/model/gguf.h"
#include "engine/model/gguf_writer.h"

namespace tandem {

enum class ExpertKind { split, cloned };

struct MoeShape {
  int64_t experts = 0, used = 2;  // E, k
  ExpertKind kind = ExpertKind::split;
};

class MoeConversion {
 public:
  // Error: an architecture that has no such mixture, a model that has experts, numbers that do not fit each other or
  // the blocks of down's rows (naming the E that would), a file without the tensors of a feed-forward network.
  MoeConversion(const GgufFile& dense, const MoeShape& shape);

  // rows: f32 [E, H]. A layer without one has zeros: every expert has the same score, and a token goes to the first k.
  void set_router(int64_t layer, std::vector<float> rows);

  const ModelConfig& dense() const { return config_; }
  const std::string& architecture() const { return architecture_; }  // of the mixture
  int64_t width() const { return width_; }                           // of an expert: I / E, or I
  // Whether k times down is no power of two, so that what its blocks are multiplied by is rounded, by at most 2^-11 of
  // it (BF16: 2^-8).
  bool rounds() const;
  uint64_t file_bytes() const;

  // Hands the file over from its first byte to its last, at most about a mebibyte at a time. What `take` throws ends
  // it. Error: a scale of down times k is more than its storage type holds.
  void write(const std::function<void(std::span<const std::byte>)>& take) const;

 private:
  enum class Form { copied, each_expert, columns, router };
  // Of the new file.
  struct Tensor {
    const GgufTensor* from = nullptr;  // nullptr: a router
    Form form = Form::copied;
    int64_t layer = -1;
    uint64_t bytes = 0;
  };
  using Take = std::function<void(std::span<const std::byte>)>;

  void check_numbers() const;
  void check_blocks() const;
  void add_keys();
  void add_tensors();
  void add(const std::string& name, const std::vector<int64_t>& shape, StorageType type, Tensor tensor);
  void add_experts(const GgufTensor& tensor, int64_t layer, const std::string& name);
  void write_tensor(const Tensor& tensor, const Take& take) const;
  void write_columns(const GgufTensor& down, const Take& take) const;

  const GgufFile& file_;
  const MoeShape shape_;
  const ModelConfig config_;
  std::string architecture_;
  int64_t width_ = 0;
  GgufWriter writer_;
  std::vector<Tensor> tensors_;
  std::vector<std::vector<float>> routers_;  // [layers], each [E, H]
};

}  // namespace tandem
