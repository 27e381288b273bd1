// Records choices during passes in flat lists, and writes them as a trace at the end. Ids have 16 bits, so that a long
// record stays small.
#include "engine/moe/routing_record.h"

#include <algorithm>
#include <charconv>

#include "engine/moe/routing_trace.h"

namespace tandem {
namespace {

// The shortest digits that read back as the same number, and no locale.
template <typename T>
void append_number(std::string& text, T value) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  text.append(digits, end);
}

// [[a,b],[c,d]] for `rows` rows of k values.
template <typename T>
void append_rows(std::string& text, std::span<const T> values, size_t rows) {
  const size_t k = values.size() / rows;
  for (size_t i = 0; i < values.size(); ++i) {
    text += i == 0 ? "[[" : i % k == 0 ? "],[" : ",";
    append_number(text, values[i]);
  }
  text += "]]";
}

}  // namespace

void RoutingRecord::add(std::span<const int32_t> ids, std::span<const float> weights) {
  for (const int32_t id : ids) ids_.push_back(static_cast<uint16_t>(id));
  weights_.insert(weights_.end(), weights.begin(), weights.end());
}

int64_t RoutingRecord::sequences() const {
  int64_t most = -1;
  for (const Token& token : tokens_) most = std::max(most, token.sequence);
  return most + 1;
}

// Writes the line digit by digit, without a JSON object for each token.
void RoutingRecord::write_token(size_t token, std::string& text) const {
  const size_t layers = shape_.layers.size(), each = layers * static_cast<size_t>(shape_.used);
  text += "{\"seq\":";
  append_number(text, tokens_[token].sequence);
  text += ",\"pos\":";
  append_number(text, tokens_[token].position);
  text += ",\"experts\":";
  append_rows(text, std::span<const uint16_t>(ids_).subspan(token * each, each), layers);
  text += ",\"weights\":";
  append_rows(text, std::span<const float>(weights_).subspan(token * each, each), layers);
  text += "}\n";
}

// Hands the text over in pieces of a megabyte, so a long trace is never in memory twice.
void RoutingRecord::write(const std::function<void(std::string_view)>& put) const {
  constexpr size_t kPiece = size_t{1} << 20;
  int64_t longest = 0;
  for (const Token& token : tokens_) longest = std::max(longest, token.position + 1);
  std::string text = trace_head(model_, shape_, sequences(), longest);
  for (size_t token = 0; token < tokens_.size(); ++token) {
    write_token(token, text);
    if (text.size() < kPiece) continue;
    put(text);
    text.clear();
  }
  put(text);
}

}  // namespace tandem
