// Turns a dense model's file into a mixture of experts. It gives real weights to test experts with, when no trained
// mixture is available.
//
// Contract: each layer's feed-forward network, gate [I, H], up [I, H] and down [H, I], becomes E experts and a router
// f32 [E, H]. A token uses k of them, with weights that add up to 1.
//   split: expert e has rows e I/E to (e + 1) I/E of gate and up, and the same columns of down, times k. With all
//     experts active and equal weights, the sum is the dense model's.
//   cloned: every expert is the whole network. The sum is always the dense model's, whatever the router chooses.
// All other keys and tensors are copied byte for byte; the parts of a split model become one file. Storage types stay,
// and nothing is decoded: down is multiplied through its blocks' scales (engine/tensor/block_scales.h). Borrows the
// file, which must outlive it. One thread.
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
  // Error: the architecture has no such mixture, or the model has experts already. Error too: the numbers do not fit
  // each other or the blocks of down's rows (the text names the E that fit). Error too: the file lacks tensors of a
  // feed-forward network.
  MoeConversion(const GgufFile& dense, const MoeShape& shape);

  // rows: f32 [E, H]. A layer without a router has zeros: every expert has the same score, and a token uses
  // the first k.
  void set_router(int64_t layer, std::vector<float> rows);

  const ModelConfig& dense() const { return config_; }
  const std::string& architecture() const { return architecture_; }  // the mixture's
  int64_t width() const { return width_; }                           // of an expert: I / E, or I
  // True if the scales of down are rounded because k is no power of two. The error is at most 2^-11 of a scale
  // (BF16: 2^-8).
  bool rounds() const;
  uint64_t file_bytes() const;

  // Passes the file to `take` from its first byte to its last, at most about a mebibyte at a time. An exception of
  // `take` ends it. Error: a scale of down times k exceeds its storage type.
  void write(const std::function<void(std::span<const std::byte>)>& take) const;

 private:
  enum class Form { copied, each_expert, columns, router };
  // A tensor of the new file.
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
