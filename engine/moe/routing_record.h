// Routing that is recorded while a model works, and written as a trace at the end (routing_trace.h).
//
// Contract: appending costs a copy of the ids and the weights, 6 bytes a choice. Text is made when it is written, with
// the shortest digits that read back as the same f32. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/moe/routing_counts.h"

namespace tandem {

class RoutingRecord {
 public:
  RoutingRecord(std::string model, const RoutingCounts& shape) : model_(std::move(model)), shape_(shape) {}

  // A token, and then each of its layers in the order of the shape's layers.
  void begin(int64_t sequence, int64_t position) { tokens_.push_back({sequence, position}); }
  void add(std::span<const int32_t> ids, std::span<const float> weights);

  int64_t tokens() const { return std::ssize(tokens_); }
  int64_t sequences() const;
  // Calls `put` with pieces of the trace, whole lines each.
  void write(const std::function<void(std::string_view text)>& put) const;

 private:
  struct Token {
    int64_t sequence = 0, position = 0;
  };
  void write_token(size_t token, std::string& text) const;

  const std::string model_;
  const RoutingCounts shape_;
  std::vector<Token> tokens_;
  std::vector<uint16_t> ids_;   // [tokens, layers, k]
  std::vector<float> weights_;  // [tokens, layers, k]
};

}  // namespace tandem
