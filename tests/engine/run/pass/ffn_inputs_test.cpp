// The inputs of feed-forward networks, layer by layer, compared with those that whole passes leave behind ffn_norm.
#include "engine/run/pass/ffn_inputs.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "engine/device/registry.h"
#include "engine/graph/decoder.h"
#include "engine/model/loading.h"
#include "tests/engine/run/host_engine.h"

namespace tandem::testing {
namespace {

class FfnInputs : public ::testing::Test {
 protected:
  using Windows = std::vector<std::vector<int32_t>>;

  std::map<int64_t, std::vector<float>> read(const Windows& windows) {
    std::map<int64_t, std::vector<float>> all;
    read_ffn_inputs(model_, *device_, pool_, windows, {[&](int64_t layer, std::span<const float> inputs) {
                      EXPECT_TRUE(all.emplace(layer, std::vector(inputs.begin(), inputs.end())).second);
                    }});
    return all;
  }

  const std::vector<std::byte> bytes_ = write_gguf({.layers = 3});
  sync::Pool pool_;
  const Model model_ = load_model(GgufFile::parse(bytes_, "tiny"), pool_, 2);
  const std::unique_ptr<Device> device_ = open_device("host", {});
};

// A pass that ends behind the layer's norm leaves the inputs where a matmul would read them.
TEST_F(FfnInputs, are_those_of_a_whole_pass) {
  const std::vector<int32_t> ids = some_ids(37);
  const auto inputs = read({ids});
  ASSERT_EQ(inputs.size(), 3u);
  ActivationSizes sizes;
  sizes.tokens = sizes.context = 37;
  sizes.kv_type = KvType::f32;
  const Activations buffers(model_.config, sizes, &pool_);
  std::ranges::copy(ids, buffers.ids.as<int32_t>());
  write_positions(buffers, 0, 37);
  const std::vector<Operator> all = build_decoder(model_, buffers, {37, 0}, {.every_token = true});
  for (int64_t layer = 0; layer < 3; ++layer) {
    const auto norm = std::ranges::find(all, "blk." + std::to_string(layer) + ".ffn_norm",
                                        [](const Operator& op) { return op.name; });
    ASSERT_NE(norm, all.end());
    const auto program = device_->prepare(std::span(all.begin(), norm + 1));
    launch_one(*device_, *program);
    device_->finish(sync::kWaitDeadline);
    const auto* normed = buffers.normed.as<float>();
    EXPECT_EQ(inputs.at(layer), std::vector(normed, normed + 37 * 64)) << "layer " << layer;
  }
}

TEST_F(FfnInputs, of_windows_are_those_of_each_by_itself) {
  const std::vector<int32_t> first = some_ids(20), second(first.rbegin(), first.rend()), third = some_ids(7);
  const auto together = read({first, second, third});
  for (int64_t layer = 0; layer < 3; ++layer) {
    std::vector<float> expected;
    for (const auto& window : {first, second, third}) {
      const auto alone = read({window});
      expected.insert(expected.end(), alone.at(layer).begin(), alone.at(layer).end());
    }
    EXPECT_EQ(together.at(layer), expected) << "layer " << layer;
  }
}

TEST_F(FfnInputs, say_how_far_they_are_and_end_where_they_are_told_to) {
  std::vector<uint64_t> seen;
  read_ffn_inputs(model_, *device_, pool_, Windows{some_ids(5), some_ids(3)},
                  {[](int64_t, std::span<const float>) {},
                   [&](uint64_t done, uint64_t total) {
                     EXPECT_EQ(total, 3u * 8);
                     seen.push_back(done);
                   }});
  EXPECT_EQ(seen, (std::vector<uint64_t>{5, 8, 13, 16, 21, 24}));
  struct Enough {};
  const auto enough = [](uint64_t, uint64_t) { throw Enough{}; };
  EXPECT_THROW(read_ffn_inputs(model_, *device_, pool_, Windows{some_ids(5)},
                               {[](int64_t, std::span<const float>) { FAIL(); }, enough}),
               Enough);
}

}  // namespace
}  // namespace tandem::testing
