// This program's form of a trace: a line of JSON about the model, then a line for each token.
#include "engine/moe/routing_trace.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <istream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "engine/moe/layer_lines.h"
#include "sync/error.h"
#include "sync/json_text.h"

namespace tandem {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostExperts = 4096, kMostLayers = 4096;

// Reads line by line. The meta line comes first, because it gives the number of layers, of experts and of ids.
class TraceReader {
 public:
  explicit TraceReader(const std::string& source) : source_(source) {}

  // The first line that is not empty must be the meta line. All later lines are tokens.
  RoutingTrace read(std::istream& lines) {
    for (std::string line; std::getline(lines, line);) {
      ++number_;
      if (is_blank(line)) continue;
      const Json json = parse_json(line);
      if (!json.is_object()) fail("no JSON object");
      const std::string twice =
          key_twice(line, {"seq", "pos", "experts", "weights", "scores", "top_k", "moe_layers", "type"});
      if (!twice.empty()) fail(twice + " is there twice");
      has_meta_ ? read_token(json) : read_meta(json);
    }
    if (!has_meta_) fail("no line of type meta");
    return std::move(trace_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error("a routing trace cannot be read: " + problem, source_ + ", line " + std::to_string(number_),
                "docs/npumoe.md has the form");
  }

  // Compares an unsigned number as such first, because a large one would become negative as int64.
  int64_t whole(const Json& json, const char* key, int64_t least, int64_t most) const {
    const auto value = json.find(key);
    const bool fits = value != json.end() && value->is_number_integer() &&
                      (!value->is_number_unsigned() || value->get<uint64_t>() <= static_cast<uint64_t>(most)) &&
                      value->get<int64_t>() >= least && value->get<int64_t>() <= most;
    if (!fits)
      fail(std::string(key) + " is no whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return value->get<int64_t>();
  }

  // The layers keep the model's numbers. Rows of tokens are in the order of this list.
  void read_meta(const Json& json) {
    if (json.value("type", Json()) != "meta") fail("the first line is not of type meta");
    trace_.experts = whole(json, "experts", 1, kMostExperts);
    trace_.used = whole(json, "top_k", 1, trace_.experts);
    if (const auto model = json.find("model"); model != json.end() && model->is_string()) trace_.model = *model;
    const auto layers = json.find("moe_layers");
    if (layers == json.end() || !layers->is_array() || layers->empty()) fail("moe_layers is no list of layers");
    for (const Json& layer : *layers) {
      if (!layer.is_number_unsigned() || layer.get<uint64_t>() >= kMostLayers) fail("moe_layers is no list of layers");
      trace_.layers.push_back(layer.get<int64_t>());
    }
    if (std::set(trace_.layers.begin(), trace_.layers.end()).size() != trace_.layers.size())
      fail("moe_layers names a layer twice");
    has_meta_ = true;
  }

  // A token's experts must exist and differ. Weights are optional.
  void read_token(const Json& json) {
    const std::string used = std::to_string(trace_.used);
    TracedToken token;
    token.sequence = whole(json, "seq", 0, INT32_MAX);
    token.position = whole(json, "pos", 0, INT32_MAX);
    token.experts =
        rows<int32_t>(json, "experts", trace_.used, used + " of " + std::to_string(trace_.experts) + " experts",
                      [this](const Json& id) {
                        return id.is_number_unsigned() && id.get<uint64_t>() < static_cast<uint64_t>(trace_.experts);
                      });
    for (const auto& chosen : token.experts) {
      if (std::set(chosen.begin(), chosen.end()).size() != chosen.size()) fail("a token goes to one expert twice");
    }
    const auto fits = [](const Json& value) {
      return value.is_number() && std::fabs(value.get<double>()) <= std::numeric_limits<float>::max();
    };
    if (json.contains("weights"))
      token.weights = rows<float>(json, "weights", trace_.used, used + " numbers that fit 32 bits", fits);
    if (json.contains("scores"))
      token.scores = rows<float>(json, "scores", trace_.experts,
                                 std::to_string(trace_.experts) + " numbers from 0 that fit 32 bits",
                                 [&](const Json& value) { return fits(value) && value.get<double>() >= 0; });
    trace_.tokens.push_back(std::move(token));
  }

  // One row of so many values for each layer; `fits` checks each value.
  template <typename T, typename Fits>
  std::vector<std::vector<T>> rows(const Json& json, const char* key, int64_t values, const std::string& what,
                                   const Fits& fits) const {
    const auto value = json.find(key);
    if (value == json.end() || !value->is_array() || value->size() != trace_.layers.size())
      fail(std::string(key) + " has no row for each of the " + std::to_string(trace_.layers.size()) + " layers");
    std::vector<std::vector<T>> all;
    for (const Json& row : *value) {
      if (!row.is_array() || row.size() != static_cast<size_t>(values) || !std::ranges::all_of(row, fits))
        fail(std::string(key) + " has a row that is not " + what);
      all.push_back(row.get<std::vector<T>>());
    }
    return all;
  }

  const std::string& source_;
  int64_t number_ = 0;
  bool has_meta_ = false;
  RoutingTrace trace_;
};

}  // namespace

RoutingTrace parse_routing_trace(std::istream& lines, const std::string& source) {
  return TraceReader(source).read(lines);
}

RoutingTrace read_routing_trace(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error("a routing trace cannot be opened", path);
  return parse_routing_trace(file, path);
}

std::string trace_head(const std::string& model, const RoutingCounts& shape, int64_t sequences, int64_t longest) {
  return Json{{"type", "meta"},
              {"model", model},
              {"experts", shape.experts},
              {"top_k", shape.used},
              {"moe_layers", shape.layers},
              {"sequences", sequences},
              {"tokens_per_sequence", longest}}
             .dump() +
         '\n';
}

// The meta line counts the sequences and the longest of them, so all tokens are looked at first.
void write_routing_trace(const RoutingTrace& trace, std::ostream& lines) {
  std::set<int64_t> sequences;
  int64_t longest = 0;
  for (const TracedToken& token : trace.tokens) {
    sequences.insert(token.sequence);
    longest = std::max(longest, token.position + 1);
  }
  lines << trace_head(trace.model, empty_counts(trace.experts, trace.used, trace.layers), std::ssize(sequences),
                      longest);
  // Weights are optional in the format, so a trace without them has no such key.
  for (const TracedToken& token : trace.tokens) {
    Json line{{"seq", token.sequence}, {"pos", token.position}, {"experts", token.experts}};
    if (!token.weights.empty()) line["weights"] = token.weights;
    if (!token.scores.empty()) line["scores"] = token.scores;
    lines << line.dump() << '\n';
  }
}

// Tokens of one sequence need not follow each other in the trace. The result is in the order in which sequences
// first appear.
std::vector<RoutingCounts> counts_by_sequence(const RoutingTrace& trace) {
  std::vector<RoutingCounts> counts;
  std::map<int64_t, size_t> place_of;  // index in `counts` of each sequence
  for (const TracedToken& token : trace.tokens) {
    const auto [at, is_new] = place_of.try_emplace(token.sequence, counts.size());
    if (is_new) counts.push_back(empty_counts(trace.experts, trace.used, trace.layers));
    RoutingCounts& of_sequence = counts[at->second];
    ++of_sequence.tokens;
    for (size_t l = 0; l < token.experts.size(); ++l) count_choices(of_sequence, l, token.experts[l]);
  }
  return counts;
}

}  // namespace tandem
