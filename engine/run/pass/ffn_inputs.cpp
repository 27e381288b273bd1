#include "engine/run/pass/ffn_inputs.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <variant>

#include "engine/graph/activations.h"
#include "engine/graph/decoder.h"
#include "engine/run/pass/not_finite.h"
#include "sync/error.h"
#include "sync/waiter.h"

namespace tandem {
namespace {

// A pass of some number of tokens, as programs: it is cut behind the norm before each layer's feed-forward network,
// and behind each layer.
struct Pass {
  std::unique_ptr<Program> embedding;
  std::vector<std::unique_ptr<Program>> before, behind;  // one for each layer
};

// The longest window decides the sizes. Keys and values stay f32, so that rounding of the cache does not change the
// recorded inputs.
ActivationSizes sizes_for(std::span<const std::vector<int32_t>> windows) {
  constexpr int64_t kCacheStep = 64;
  size_t longest = 0;
  for (const auto& window : windows) longest = std::max(longest, window.size());
  ActivationSizes sizes;
  sizes.tokens = sizes.context = static_cast<int64_t>(longest);
  sizes.positions = (sizes.tokens + kCacheStep - 1) / kCacheStep * kCacheStep;
  sizes.kv_type = KvType::f32;
  return sizes;
}

// Reads all windows, layer by layer. Between two layers a window's state is two rows for each token: the
// residual stream, and the part that is still to be added to it. read() puts them into the device's buffers and
// takes them out again.
class Reading {
 public:
  Reading(const Model& model, Device& device, sync::Pool& pool, std::span<const std::vector<int32_t>> windows)
      : model_(model),
        device_(device),
        windows_(windows),
        H_(static_cast<size_t>(model.config.hidden)),
        buffers_(model.config, sizes_for(windows), &pool) {
    for (const auto& window : windows) tokens_ += window.size();
    hidden_.resize(tokens_ * H_);
    added_.resize(tokens_ * H_);
    inputs_.resize(tokens_ * H_);
  }

  // Layers are the outer loop, so one layer's inputs are complete for all windows when the sink takes them.
  void run(const FfnInputsSinks& sinks) {
    uint64_t done = 0;
    const uint64_t total = static_cast<uint64_t>(tokens_) * static_cast<uint64_t>(model_.config.layers);
    for (int64_t layer = 0; layer < model_.config.layers; ++layer) {
      size_t first = 0;
      for (const auto& window : windows_) {
        read(layer, window, first);
        first += window.size();
        if (sinks.progress) sinks.progress(done += window.size(), total);
      }
      sinks.take(layer, inputs_);
    }
  }

 private:
  // Runs one layer of a window. first: the index of its first token among all tokens.
  void read(int64_t layer, const std::vector<int32_t>& window, size_t first) {
    const Pass& pass = pass_of(window.size());
    const size_t at = first * H_, count = window.size() * H_;
    std::ranges::copy(window, buffers_.ids.as<int32_t>());
    write_positions(buffers_, 0, static_cast<int64_t>(window.size()));
    // The first layer begins with the embedding, and every other layer with the state that the layer before it left.
    if (layer == 0) {
      execute(*pass.embedding);
    } else {
      std::copy_n(hidden_.data() + at, count, buffers_.hidden.as<float>());
      std::copy_n(added_.data() + at, count, buffers_.projected.as<float>());
    }
    execute(*pass.before[static_cast<size_t>(layer)]);
    std::copy_n(buffers_.normed.as<float>(), count, inputs_.data() + at);
    if (!all_finite({inputs_.data() + at, count}))
      throw Error("activations are not finite", "layer " + std::to_string(layer),
                  "The model file is damaged: compare it with its source");
    execute(*pass.behind[static_cast<size_t>(layer)]);
    std::copy_n(buffers_.hidden.as<float>(), count, hidden_.data() + at);
    std::copy_n(buffers_.projected.as<float>(), count, added_.data() + at);
  }

  // Windows of one length share their programs, because their buffers are the same.
  const Pass& pass_of(size_t tokens) {
    const auto [entry, is_new] = passes_.try_emplace(tokens);
    if (is_new) entry->second = make_pass(static_cast<int64_t>(tokens));
    return entry->second;
  }

  // Cuts the list of all operators in order: the embedding, then for each layer the operators up to its last
  // norm, and the rest.
  Pass make_pass(int64_t tokens) {
    const std::vector<Operator> all = build_decoder(model_, buffers_, {tokens, 0}, {.every_token = true});
    Pass pass;
    auto begin = all.begin();
    const auto take_until = [&](auto end) { return device_.prepare(std::span(std::exchange(begin, end), end)); };
    const auto next_layer = [&] {
      return std::find_if(begin, all.end(), [&](const Operator& op) { return op.layer != begin->layer; });
    };
    pass.embedding = take_until(next_layer());
    while (begin != all.end()) {
      const auto end = next_layer();
      pass.before.push_back(take_until(behind_the_last_norm(begin, end)));
      pass.behind.push_back(take_until(end));
    }
    return pass;
  }

  // The end of a layer's last norm into `normed`. Its first norm there belongs to attention, its last one to the
  // feed-forward network.
  using At = std::vector<Operator>::const_iterator;
  At behind_the_last_norm(At begin, At end) const {
    const auto norm = std::find_if(std::reverse_iterator(end), std::reverse_iterator(begin), [&](const Operator& op) {
      const auto* found = std::get_if<RmsNorm>(&op.body);
      return found != nullptr && found->y == buffers_.normed;
    });
    TANDEM_CHECK(norm.base() != begin, "every layer has a norm before its feed-forward network");
    return norm.base();
  }

  // The host reads and writes the buffers between two programs, so each is waited for.
  void execute(Program& program) {
    launch_one(device_, program);
    device_.finish(sync::kWaitDeadline);
  }

  const Model& model_;
  Device& device_;
  const std::span<const std::vector<int32_t>> windows_;
  const size_t H_;
  size_t tokens_ = 0;
  Activations buffers_;
  std::vector<float> hidden_, added_, inputs_;  // [tokens, H]
  std::map<size_t, Pass> passes_;               // by their numbers of tokens
};

}  // namespace

void read_ffn_inputs(const Model& model, Device& device, sync::Pool& pool,
                     std::span<const std::vector<int32_t>> windows, const FfnInputsSinks& sinks) {
  TANDEM_CHECK(!windows.empty() && std::ranges::none_of(windows, [](const auto& one) { return one.empty(); }),
               "windows of a text");
  Reading(model, device, pool, windows).run(sinks);
}

}  // namespace tandem
