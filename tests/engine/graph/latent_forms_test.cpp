// The two forms of latent attention (DeepSeek-AI 2024, arXiv:2405.04434) on every device. The decoder's operators
// multiply queries to the latents, and make the values of heads from the attended latents. The paper defines the
// other form: it makes the keys and values of every head from the latents and attends to them. Here that form runs in
// double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "engine/graph/decoder.h"
#include "engine/model/loading.h"
#include "engine/model/random_model.h"
#include "engine/model/shapes.h"
#include "tests/engine/device/every_device.h"
#include "tests/engine/device/on_target.h"

namespace tandem::testing {
namespace {

using Row = std::vector<double>;

// The matrices of one head that make its keys and values from a latent.
struct Head {
  std::vector<Row> keys;    // [nope][rank]
  std::vector<Row> values;  // [value][rank]
};

// The cache's content for a position: the latent, and the key that all heads share.
struct Kept {
  Row latent;  // [rank]
  Row key;     // [rope]
};

double product(const Row& a, const Row& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Row magnitudes(Row values) {
  for (double& value : values) value = std::fabs(value);
  return values;
}

// A head's key for the position, followed by the shared key.
Row key_of(const Head& head, const Kept& kept) {
  Row key;
  for (const Row& row : head.keys) key.push_back(product(row, kept.latent));
  key.insert(key.end(), kept.key.begin(), kept.key.end());
  return key;
}
Row value_of(const Head& head, const Kept& kept) {
  Row value;
  for (const Row& row : head.values) value.push_back(product(row, kept.latent));
  return value;
}

Head magnitudes(Head head) {
  for (Row& row : head.keys) row = magnitudes(row);
  for (Row& row : head.values) row = magnitudes(row);
  return head;
}
Kept magnitudes(const Kept& kept) { return {magnitudes(kept.latent), magnitudes(kept.key)}; }

struct Attended {
  Row value;
  Row bound;  // the largest difference that f32 roundings can make in the absorbed form
};

// The weights w are positive and add up to 1. e is the relative error of one rounding. Each step of a chain of
// multiply-adds rounds at most twice.
//
// A query multiplied to the latents is off by 2 nope e of the sum of its products' magnitudes. A score is off by a
// share (2 (rank + rope) + 1) e of its own products' magnitudes. Together the share is (2 (nope + rank + rope) + 1) e
// of scale * |q| . |k|, where |k| is made of magnitudes. An error d of scores changes weights by the factor exp(2 d).
// Softmax, the sum over positions and the quotient add count + 30 roundings, in numerator and denominator. A head's
// value is a chain of rank products of that sum. |v| is also a value made of magnitudes.
Attended attend_expanded(const Head& head, const Row& query, const std::vector<Kept>& seen, double scale) {
  const Head absolute = magnitudes(head);
  const auto nope = static_cast<double>(head.keys.size()), rank = static_cast<double>(seen[0].latent.size());
  const auto rope = static_cast<double>(seen[0].key.size()), count = static_cast<double>(seen.size());
  Row weights;
  double score_error = 0;
  for (const Kept& kept : seen) {
    weights.push_back(scale * product(query, key_of(head, kept)));
    const double size = scale * product(magnitudes(query), key_of(absolute, magnitudes(kept)));
    score_error = std::max(score_error, (2 * (nope + rank + rope) + 1) * kEpsilon * size);
  }
  const double top = std::ranges::max(weights);
  double sum = 0;
  for (double& weight : weights) sum += weight = std::exp(weight - top);
  Attended found{Row(head.values.size()), Row(head.values.size())};
  const double share = std::expm1(2 * score_error) + (2 * (count + 30) + 2 * rank) * kEpsilon;
  for (size_t p = 0; p < seen.size(); ++p) {
    const Row value = value_of(head, seen[p]), size = value_of(absolute, magnitudes(seen[p]));
    for (size_t i = 0; i < value.size(); ++i) {
      found.value[i] += weights[p] / sum * value[i];
      found.bound[i] += weights[p] / sum * size[i] * share;
    }
  }
  return found;
}

// The scores are 0 and 0.5 * (ln 4 * 1 * 1 + 0.5 ln 4 * 0) = ln 2. So the weights of the values 3 * 0 and 3 * 1 are 1/3
// and 2/3.
TEST(ExpandedForm, gives_what_is_worked_out_by_hand) {
  const Head head{{{1}}, {{3}}};
  const Attended found = attend_expanded(head, {std::log(4.0), std::log(2.0)}, {{{0}, {0}}, {{1}, {0}}}, 0.5);
  EXPECT_NEAR(found.value[0], 2, 1e-12);
  // With the rotated part alone the scores are 0 and 0.5 * 2 ln 9 = ln 9, and the weights 0.1 and 0.9.
  const Attended turned = attend_expanded(head, {0, 2}, {{{1}, {0}}, {{0}, {std::log(9.0)}}}, 0.5);
  EXPECT_NEAR(turned.value[0], 0.3, 1e-12);
}

struct Shape {
  int64_t heads, rank, nope, rope, value;
  StorageType weights;
  KvType cache;
};

class LatentForms : public OnTarget {
 protected:
  void open(const Shape& shape) {
    ModelConfig config = model_shape("deepseek-v2-lite");
    config.layers = config.experts->dense_layers = 1;
    config.hidden = config.feed_forward = 64;
    config.vocabulary = 300;
    config.heads = shape.heads;
    config.latent = {.rank = shape.rank, .nope = shape.nope, .rope = shape.rope, .value = shape.value};
    config.head_dim = shape.rank + shape.rope;
    config.head_dim_v = shape.rank;
    config.rope.dim = shape.rope;
    config.rope.scaling = RopeScaling::none;
    config.given_attention_scale = 0;  // the file names no YaRN, so reading it sets its own
    RandomModel(config, shape.weights, 5).write([&](std::span<const std::byte> more) {
      bytes_.insert(bytes_.end(), more.begin(), more.end());
    });
    file_.emplace(GgufFile::parse(bytes_, "latent.gguf"));
    model_.emplace(load_model(*file_, bench_.pool, 2));
    buffers_.emplace(model_->config, ActivationSizes{kTokens, 1, 64, 64, shape.cache}, &bench_.pool);
    read_heads();
  }

  // Reads the heads from the file. A head has rows for keys, then rows for values.
  void read_heads() {
    const LatentConfig& latent = *model_->config.latent;
    const GgufTensor& tensor = file_->require("blk.0.attn_kv_b.weight");
    std::vector<float> row(static_cast<size_t>(latent.rank));
    const std::byte* from = tensor.data;
    for (int64_t h = 0; h < model_->config.heads; ++h) {
      Head& head = heads_.emplace_back();
      for (int64_t i = 0; i < latent.nope + latent.value; ++i, from += row_bytes(tensor.type, latent.rank)) {
        decode_row(tensor.type, from, row.data(), latent.rank);
        (i < latent.nope ? head.keys : head.values).emplace_back(row.begin(), row.end());
      }
    }
  }

  // Runs S more tokens through the layer's attention, and compares every head's values with those of the other form.
  // Skips if the device leaves these operators to others.
  void expect_the_same_forms(int64_t S) {
    std::vector<Operator> operators;
    for (Operator& op : build_decoder(*model_, *buffers_, {S, 1}, {.every_token = true})) {
      if (op.name == "blk.0.attn_kv_a_norm" || !operators.empty()) operators.push_back(std::move(op));
      if (!operators.empty() && operators.back().name == "blk.0.attn_v_b") break;
    }
    ASSERT_EQ(operators.size(), 8U) << "norm, two rotations, append, two of queries, attention, values";
    for (const Operator& op : operators) {
      const Support support = bench_.device->supports(op);
      if (support.yes) continue;
      const DeviceKind kind = bench_.device->info().kind;
      ASSERT_TRUE(kind == DeviceKind::npu || kind == DeviceKind::unit) << support.reason;
      GTEST_SKIP() << "skipped: unsupported by " << bench_.device->info().id << ": " << support.reason;
    }
    const auto first = static_cast<int64_t>(kept_.size());
    write_positions(*buffers_, first, S);
    std::ranges::copy(random_floats(random_, S * model_->config.projected_width(), 1.0F), buffers_->qkv.as<float>());
    bench_.run(operators);
    for (int64_t s = 0; s < S; ++s) kept_.push_back(kept_of(s));
    for (int64_t s = 0; s < S; ++s) expect_token(s, first + s);
  }

 private:
  static constexpr int64_t kTokens = 21;

  Row row_of(int64_t s, int64_t begin, int64_t count) const {
    const float* at = buffers_->qkv.as<float>() + s * model_->config.projected_width() + begin;
    return {at, at + count};
  }

  // The values that the operators before the cache left, rounded to the cache's type.
  Kept kept_of(int64_t s) const {
    const LatentConfig& latent = *model_->config.latent;
    const int64_t at = model_->config.query_width();
    Kept kept{row_of(s, at, latent.rank), row_of(s, at + latent.rank, latent.rope)};
    if (buffers_->sizes.kv_type == KvType::f16) {
      for (Row* row : {&kept.latent, &kept.key})
        for (double& value : *row) value = half_to_float(float_to_half(static_cast<float>(value)));
    }
    return kept;
  }

  void expect_token(int64_t s, int64_t position) {
    const LatentConfig& latent = *model_->config.latent;
    const int64_t each = latent.nope + latent.rope;
    const std::vector<Kept> seen(kept_.begin(), kept_.begin() + position + 1);
    for (int64_t h = 0; h < model_->config.heads; ++h) {
      const Attended expected = attend_expanded(heads_[static_cast<size_t>(h)], row_of(s, h * each, each), seen,
                                                1 / std::sqrt(static_cast<double>(each)));
      const float* found = buffers_->values.as<float>() + s * model_->config.attended_width() + h * latent.value;
      for (int64_t i = 0; i < latent.value; ++i) {
        const auto at = static_cast<size_t>(i);
        EXPECT_NEAR(found[i], expected.value[at], expected.bound[at])
            << "position " << position << " head " << h << " value " << i;
      }
      EXPECT_LT(std::ranges::max(expected.bound), 0.01 * std::ranges::max(magnitudes(expected.value)))
          << "a bound that lets other values pass";
    }
  }

  std::vector<std::byte> bytes_;
  std::optional<GgufFile> file_;
  std::optional<Model> model_;
  std::optional<Activations> buffers_;
  std::vector<Head> heads_;
  std::vector<Kept> kept_;  // for every position so far
  std::mt19937 random_{11};
};

// A text, then one more token, like a prompt and the decoding behind it.
TEST_P(LatentForms, agree_at_sizes_that_can_be_followed_by_hand) {
  open({2, 4, 3, 2, 5, StorageType::f32, KvType::f32});
  ASSERT_NO_FATAL_FAILURE(expect_the_same_forms(5));
  if (!IsSkipped()) expect_the_same_forms(1);
}

TEST_P(LatentForms, agree_for_weights_and_a_cache_that_were_rounded) {
  open({3, 64, 40, 8, 24, StorageType::q8_0, KvType::f16});
  ASSERT_NO_FATAL_FAILURE(expect_the_same_forms(21));
  if (!IsSkipped()) expect_the_same_forms(1);
}

INSTANTIATE_TEST_SUITE_P(Devices, LatentForms, ::testing::ValuesIn(targets()),
                         [](const auto& test) { return test.param.name; });

TEST(LatentFormsSuite, runs_on_every_kind_of_device_there_is) {
  std::vector<std::string> kinds;
  for (const Target& target : targets()) kinds.push_back(target.id.substr(0, target.id.find(':')));
  test::expect_every_device(kinds);
}

}  // namespace
}  // namespace tandem::testing
