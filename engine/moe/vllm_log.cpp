// The form of vLLM's logs of routing: a line of JSON for each token in each layer.
#include <cmath>
#include <istream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/moe/layer_lines.h"
#include "sync/json_text.h"

namespace tandem {
namespace {

using LogLine = nlohmann::json;

// Keys have changed between versions of vLLM, so each fact is looked for under the names of all of them.
class VllmReader {
 public:
  explicit VllmReader(const std::string& source) : collected_(source) {}

  void read(std::istream& lines, const std::string& first, int64_t number, const RoutingHints& hints,
            RecordedRouting& routing) {
    line_ = number;
    read_meta(parse(first), routing.trace);
    for (std::string text; std::getline(lines, text);) {
      ++line_;
      if (!is_blank(text)) read_token(parse(text));
    }
    collected_.put_together(routing, told_, hints);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { collected_.fail(problem, line_); }

  LogLine parse(const std::string& text) const {
    LogLine json = parse_json(text);
    if (!json.is_object()) fail("no JSON object");
    const std::string twice = key_twice(text, {"layer", "row", "token_idx", "req_id", "seq", "topk_ids", "topk_weights",
                                               "num_experts", "top_k", "layers_logged"});
    if (!twice.empty()) fail(twice + " is there twice");
    return json;
  }

  // A whole number from 0 to `most`, or nothing where there is no such key.
  std::optional<int64_t> whole(const LogLine& json, const char* key, int64_t most) const {
    const auto value = json.find(key);
    if (value == json.end() || value->is_null()) return std::nullopt;
    if (!value->is_number_unsigned() || value->get<uint64_t>() > static_cast<uint64_t>(most))
      fail(std::string(key) + " is no whole number from 0 to " + std::to_string(most));
    return value->get<int64_t>();
  }

  void read_meta(const LogLine& json, RoutingTrace& trace) {
    if (json.value("type", LogLine()) != "meta") fail("the first line is not of type meta");
    for (const char* key : {"model_id", "model"})
      if (const auto model = json.find(key); model != json.end() && model->is_string()) trace.model = *model;
    told_.experts = whole(json, "num_experts", kMostRecordedExperts).value_or(0);
    told_.used = whole(json, "top_k", kMostRecordedExperts).value_or(0);
    const auto layers = json.find("layers_logged");
    if (layers == json.end() || !layers->is_array()) return;
    for (const LogLine& layer : *layers) {
      if (!layer.is_number_unsigned() || layer.get<uint64_t>() >= kMostRecordedLayers)
        fail("layers_logged is no list of layers");
      collected_.expect_layer(layer.get<int64_t>());
    }
  }

  // One token in one layer. The key of the token's row and of its sequence depends on the version of vLLM.
  void read_token(const LogLine& json) {
    const auto layer = whole(json, "layer", kMostRecordedLayers - 1);
    if (!layer) fail("a token has no layer");
    LayerLine token;
    token.line = line_;
    const auto row = whole(json, "row", std::numeric_limits<int32_t>::max());
    token.row = row ? *row : whole(json, "token_idx", std::numeric_limits<int32_t>::max()).value_or(-1);
    for (const char* key : {"req_id", "seq"})
      if (const auto name = json.find(key); name != json.end()) token.sequence = collected_.sequence_of(name->dump());
    token.ids = values<int32_t>(
        json, "topk_ids", "experts from 0 to " + std::to_string(kMostRecordedExperts - 1),
        [](const LogLine& id) { return id.is_number_unsigned() && id.get<uint64_t>() < kMostRecordedExperts; });
    if (token.ids.empty()) fail("topk_ids is no list of experts");
    if (json.contains("topk_weights")) {
      token.weights = values<float>(json, "topk_weights", "numbers that fit 32 bits", [](const LogLine& weight) {
        return weight.is_number() && std::fabs(weight.get<double>()) <= std::numeric_limits<float>::max();
      });
      if (token.weights.size() != token.ids.size()) fail("topk_weights has not one number for each of topk_ids");
    }
    collected_.add(*layer, std::move(token));
  }

  template <typename T, typename Fits>
  std::vector<T> values(const LogLine& json, const char* key, const std::string& what, const Fits& fits) const {
    const auto value = json.find(key);
    if (value == json.end() || !value->is_array() || !std::ranges::all_of(*value, fits))
      fail(std::string(key) + " is no list of " + what);
    return value->get<std::vector<T>>();
  }

  LayerLines collected_;
  RoutingHints told_;
  int64_t line_ = 0;
};

}  // namespace

void read_vllm_log(std::istream& lines, const std::string& first, int64_t number, const std::string& source,
                   const RoutingHints& hints, RecordedRouting& routing) {
  VllmReader(source).read(lines, first, number, hints, routing);
}

}  // namespace tandem
