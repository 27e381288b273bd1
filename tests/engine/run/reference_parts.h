// Parts of forward passes in double precision: sums, norms, rotations, attention, experts, and the tensors of a file.
//
// Contract: written for reading, not for speed. A Rows value has one row for each token of a text.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "engine/model/gguf.h"

namespace tandem::testing {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

void add(Rows& x, const Rows& y, double scale = 1);
Rows columns(const Rows& x, int64_t begin, int64_t count);

double silu(double x);
double gelu_tanh(double x);
double squared_relu(double x);
Rows gated(const Rows& gate, const Rows& up, double (*activation)(double));

// The rotation of q and k by the positions in one layer.
struct Rotation {
  int64_t dim = 0;
  bool halves = true;  // pairs (i, i + dim / 2), else (2 i, 2 i + 1)
  double base = 10000, position_scale = 1, magnitude = 1;
  Row factors = {};  // [dim / 2]: each pair's frequency is divided by it; empty: by 1
};
void rotate(Rows& x, int64_t heads, int64_t head_dim, const Rotation& by);

struct Heads {
  int64_t count = 0, kv = 0, dim = 0, dim_v = 0;
  double scale = 1, cap = 0;                             // cap 0: none
  int64_t window = std::numeric_limits<int64_t>::max();  // the positions that a token sees, including its own
  bool sees_all = false;                                 // also the later ones
  Row slopes = {};                                       // each head's, times the distance, lowers scores; empty: none
};
double capped(double x, double cap);
Rows attend(const Rows& q, const Rows& k, const Rows& v, const Heads& heads);

// The tensors and keys of a file.
class Weights {
 public:
  explicit Weights(const GgufFile& file) : file_(file), architecture_(file.require_string("general.architecture")) {}

  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  Row vector(const std::string& name) const;
  // Products with a matrix, or with matrix `index` of a tensor that has several of `rows` rows each. A matrix of NVFP4
  // may have a factor on its results, NAME.scale beside NAME.weight.
  Rows multiply(const std::string& name, const Rows& x) const;
  Rows multiply(const std::string& name, const Rows& x, int64_t index, int64_t rows) const;
  // The product with NAME.weight, and NAME.bias added where the file has it.
  Rows project(const std::string& name, const Rows& x) const;
  // The root-mean-square norm of every `width` values. It is a LayerNorm, perhaps with a bias, if the file states that
  // norm's epsilon.
  Rows norm(const std::string& name, Rows x) const;
  Rows embed(std::span<const int32_t> ids, double scale) const;
  Rows output(const Rows& hidden, double scale = 1) const;

  double number(const std::string& key) const { return file_.require_float(architecture_ + "." + key); }
  double number(const std::string& key, double otherwise) const {
    return file_.get_float(architecture_ + "." + key).value_or(otherwise);
  }
  bool flag(const std::string& key) const { return file_.get_bool(architecture_ + "." + key).value_or(false); }
  int64_t layers() const { return static_cast<int64_t>(number("block_count")); }
  Heads heads() const;
  // The rotation of the file's keys, without YaRN.
  Rotation rotation(bool halves) const;
  double eps() const;
  const std::string& architecture() const { return architecture_; }

 private:
  const GgufFile& file_;
  std::string architecture_;
};

// The attention of one layer, from the normed input to its contribution to the residual stream.
Rows self_attention(const Weights& w, const std::string& layer, const Heads& heads, const Rotation& rotation, Rows q,
                    Rows k, const Rows& v);

struct Projected {
  Rows q, k, v;
};
// Norms of heads with weights of their own, [heads, width]: LayerNorms without biases.
void norm_each_head(Rows& x, const Row& weights, int64_t heads, double eps);
// Biases of the file are added. One tensor may hold all three.
Projected projected(const Weights& w, const std::string& layer, const Rows& x);
Rows feed_forward(const Weights& w, const std::string& layer, const Rows& x, double (*activation)(double));
// Without a gate. Biases of the file are added.
Rows plain_feed_forward(const Weights& w, const std::string& layer, const Rows& x, double (*activation)(double));
// The same with gate and up in one tensor, ffn_up.
Rows fused_feed_forward(const Weights& w, const std::string& layer, const Rows& x);
// Each token goes to the k experts with the highest softmax scores, and their results are weighted by these scores.
struct Mixing {
  int64_t experts = 0, used = 0;
  bool normalised = false;  // the weights of a token add up to 1
  double scale = 1;
};
Rows mixture(const Weights& w, const std::string& layer, const Rows& x, const Mixing& mixing);
Rows shared_experts(const Weights& w, const std::string& layer, const Rows& x);

// Layer by layer: what attention adds to the residual stream, then what the feed-forward network adds. If they are
// parallel, the network does not see what attention adds.
struct Decoder {
  std::function<Rows(int64_t index, const std::string&layer, const Rows&x)> attention, feed_forward;
  double embedding = 1, branch = 1, logits = 1;  // scales
  bool parallel = false;
};
Rows decode(const Weights& w, std::span<const int32_t> ids, const Decoder& decoder);

}  // namespace tandem::testing
