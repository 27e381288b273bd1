// Reads and writes how often each expert was chosen. Users write such files, so each number is checked before it is
// used as an index or a size.
#include "engine/moe/calibration.h"

#include <nlohmann/json.hpp>
#include <numeric>

#include "engine/moe/routing_trace.h"
#include "sync/error.h"
#include "sync/json_text.h"

namespace tandem {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kSchema = 1;
constexpr const char* kTraceSuffix = ".jsonl";
constexpr int64_t kMost = int64_t{1} << 40;  // keeps products of two counts inside 64 bits

// Reads and checks the JSON form. Every failure names the key and what was expected.
class CalibrationReader {
 public:
  CalibrationReader(const nlohmann::json& json, const std::string& source) : json_(json), source_(source) {}

  // The numbers of experts and tokens come first, because every layer's counts must add up to their product.
  Calibration read() const {
    if (!json_.is_object() || whole(json_, "schema", 1, kMost) != kSchema) fail("schema", "1");
    Calibration calibration;
    if (!json_.contains("model") || !json_["model"].is_string()) fail("model", "a name");
    calibration.model = json_["model"];
    RoutingCounts& counts = calibration.counts;
    counts.experts = whole(json_, "experts", 1, 4096);
    counts.used = whole(json_, "experts_used", 1, counts.experts);
    counts.tokens = whole(json_, "tokens", 1, kMost);
    const auto layers = json_.find("layers");
    if (layers == json_.end() || !layers->is_array() || layers->empty()) fail("layers", "a list of layers");
    for (const nlohmann::json& layer : *layers) {
      if (!layer.is_object()) fail("layers", "a list of layers");
      counts.layers.push_back(whole(layer, "layer", 0, 4095));
      counts.counts.push_back(counts_of(layer, counts));
    }
    return calibration;
  }

 private:
  [[noreturn]] void fail(const std::string& key, const std::string& expected) const {
    throw Error("a calibration of experts cannot be read", source_ + ": " + key,
                "expected " + expected + "; `tandem calibrate-moe` writes one");
  }
  // The parser keeps whole numbers from 0 on as unsigned, so the test refuses negative numbers and fractions.
  int64_t whole(const nlohmann::json& from, const char* key, int64_t least, int64_t most) const {
    const auto value = from.find(key);
    const bool fits = value != from.end() && value->is_number_unsigned() &&
                      value->get<uint64_t>() >= static_cast<uint64_t>(least) &&
                      value->get<uint64_t>() <= static_cast<uint64_t>(most);
    if (!fits) fail(key, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return value->get<int64_t>();
  }
  // A layer's counts. Each token chooses k different experts, so no count exceeds the tokens, and all together
  // are tokens * k.
  ExpertCounts counts_of(const nlohmann::json& layer, const RoutingCounts& counts) const {
    const std::string expected = "counts of " + std::to_string(counts.experts) + " experts that add up to " +
                                 std::to_string(counts.tokens * counts.used);
    const auto values = layer.find("counts");
    if (values == layer.end() || !values->is_array() || values->size() != static_cast<size_t>(counts.experts))
      fail("counts", expected);
    ExpertCounts of_layer;
    for (const nlohmann::json& value : *values) {
      if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(counts.tokens))
        fail("counts", expected);
      of_layer.push_back(value.get<int64_t>());
    }
    if (std::reduce(of_layer.begin(), of_layer.end()) != counts.tokens * counts.used) fail("counts", expected);
    return of_layer;
  }

  const nlohmann::json& json_;
  const std::string& source_;
};

// The choices of every token of the trace.
Calibration calibration_of(const RoutingTrace& trace) {
  Calibration calibration{trace.model, empty_counts(trace.experts, trace.used, trace.layers)};
  for (const RoutingCounts& counts : counts_by_sequence(trace)) calibration.counts = sum_of(calibration.counts, counts);
  return calibration;
}

}  // namespace

// Imbalance and popularity follow from the counts. They are written for human readers and not read back.
std::string calibration_json(const Calibration& calibration) {
  const RoutingCounts& counts = calibration.counts;
  OrderedJson json{{"schema", kSchema},           {"model", calibration.model}, {"experts", counts.experts},
                   {"experts_used", counts.used}, {"tokens", counts.tokens},    {"layers", OrderedJson::array()}};
  for (size_t l = 0; l < counts.layers.size(); ++l)
    json["layers"].push_back({{"layer", counts.layers[l]},
                              {"imbalance", imbalance(counts.counts[l])},
                              {"counts", counts.counts[l]},
                              {"popularity", by_popularity(counts.counts[l])}});
  return json.dump(1) + "\n";
}

Calibration parse_calibration(std::string_view json, const std::string& source) {
  const nlohmann::json parsed = parse_json(json);
  return CalibrationReader(parsed, source).read();
}

// A trace is counted at once, so a user need not make a calibration of it first.
Calibration read_calibration(const std::string& path) {
  if (path.ends_with(kTraceSuffix)) {
    const RoutingTrace trace = read_routing_trace(path);
    if (trace.tokens.empty()) throw Error("a routing trace has no token to count", path);
    return calibration_of(trace);
  }
  return parse_calibration(read_json_file(path, "the calibration of experts"), path);
}

// Counts say nothing about the experts of another model, so name, experts and layers must all agree.
void require_same_model(const Calibration& calibration, const std::string& model, const RoutingCounts& shape,
                        const std::string& source) {
  const RoutingCounts& counts = calibration.counts;
  if (calibration.model == model && counts.experts == shape.experts && counts.used == shape.used &&
      counts.layers == shape.layers)
    return;
  const auto text = [](const std::string& name, const RoutingCounts& of) {
    return "'" + name + "' with " + std::to_string(of.used) + " of " + std::to_string(of.experts) + " experts in " +
           std::to_string(of.layers.size()) + " layers";
  };
  throw Error("a calibration of another model", source,
              "It is of " + text(calibration.model, counts) + ", the model is " + text(model, shape) +
                  "; run `tandem calibrate-moe` with this model");
}

}  // namespace tandem
