// Collects the lines of forms that record one layer at a time, and puts them together to tokens.
//
// Contract: used by the readers of recorded_routing.h. Lines come in any order of layers; the n-th token of every layer
// is one token. Error, which names the layer and the line, if they do not fit together.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/moe/recorded_routing.h"

namespace tandem {

inline constexpr int64_t kMostRecordedExperts = 4096, kMostRecordedLayers = 4096;

// A line that says nothing. A file with CRLF has a carriage return on each of its empty lines.
inline bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

// The key that an object of this line has twice, if it is one of `keys`; "" without one. A parser takes the last value.
std::string key_twice(std::string_view line, std::initializer_list<std::string_view> keys);

struct LayerLine {
  int64_t line = 0;      // number in the file
  int64_t sequence = 0;  // in the order of appearance
  int64_t row = -1;      // the file's own number of the token; -1: none
  std::vector<int32_t> ids;
  std::vector<float> weights;  // [k], or empty
};

class LayerLines {
 public:
  explicit LayerLines(std::string source) : source_(std::move(source)) {}

  const std::string& source() const { return source_; }
  [[noreturn]] void fail(const std::string& problem, int64_t line) const;
  void expect_layer(int64_t layer) { layers_[layer]; }  // Error in put_together() if it stays empty
  // Checks that the ids differ, and that there are as many as in the first line.
  void add(int64_t layer, LayerLine line);
  int64_t sequence_of(const std::string& name);  // a new name is a new sequence
  // The hints, `stated` and the lines say E and k. They must agree.
  void put_together(RecordedRouting& routing, const RoutingHints& stated, const RoutingHints& hints) const;

 private:
  int64_t experts_of(RecordedRouting& routing, const RoutingHints& stated, const RoutingHints& hints) const;
  void require_same_tokens() const;

  const std::string source_;
  std::map<int64_t, std::vector<LayerLine>> layers_;
  std::map<std::string, int64_t> sequences_;
  int64_t used_ = 0;
  int32_t largest_ = -1;
  int64_t largest_line_ = 0;
};

void read_vllm_log(std::istream& lines, const std::string& first, int64_t number, const std::string& source,
                   const RoutingHints& hints, RecordedRouting& routing);
void read_csv_trace(std::istream& lines, const std::string& first, int64_t number, const std::string& source,
                    const RoutingHints& hints, RecordedRouting& routing);

}  // namespace tandem
