// The file that keeps how often experts were used, so that the next run fills its slots with those first. A file that
// is wrong in any way is refused.
#include "engine/moe/hot_experts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "sync/error.h"
#include "sync/json_text.h"

namespace tandem {
namespace {

constexpr uint64_t kSchema = 1;
constexpr int64_t kMostExperts = 4096, kMostLayers = 4096;
constexpr int64_t kMost = int64_t{1} << 40;  // of a count: keeps the sums of a layer inside 64 bits

[[noreturn]] void fail(const std::string& source, const std::string& what) {
  throw Error("counts of used experts cannot be read", source + ": " + what);
}

// The parser keeps whole numbers from 0 on as unsigned, so the test refuses negative numbers and fractions.
int64_t count_of(const nlohmann::json& value, const char* key, int64_t most, const std::string& source) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(most))
    fail(source, std::string(key) + " is no count");
  return value.get<int64_t>();
}

// Works for what is no object too, since a broken file may contain anything.
const nlohmann::json& member(const nlohmann::json& of, const char* key, const std::string& source) {
  const auto found = of.is_object() ? of.find(key) : of.end();
  if (found == of.end()) fail(source, std::string("it has no ") + key);
  return *found;
}

}  // namespace

std::string hot_experts_json(const HotExperts& hot) {
  nlohmann::ordered_json json{{"schema", kSchema}, {"packed", hot.packed}, {"layers", nlohmann::ordered_json::array()}};
  for (size_t l = 0; l < hot.layers.size(); ++l) {
    const int64_t choices = std::reduce(hot.uses[l].begin(), hot.uses[l].end(), int64_t{0});
    json["layers"].push_back({{"layer", hot.layers[l]}, {"choices", choices}, {"uses", hot.uses[l]}});
  }
  return json.dump() + "\n";
}

// The sums notice numbers that are wrong.
HotExperts parse_hot_experts(std::string_view json, const std::string& source) {
  const nlohmann::json parsed = parse_json(json);
  if (member(parsed, "schema", source) != kSchema) fail(source, "another form");
  const nlohmann::json& packed = member(parsed, "packed", source);
  const nlohmann::json& layers = member(parsed, "layers", source);
  if (!packed.is_string() || !layers.is_array() || layers.empty()) fail(source, "it has no layers");
  HotExperts hot{packed.get<std::string>(), {}, {}};
  for (const nlohmann::json& layer : layers) {
    hot.layers.push_back(count_of(member(layer, "layer", source), "layer", kMostLayers, source));
    if (hot.layers.size() > 1 && hot.layers.end()[-2] >= hot.layers.back()) fail(source, "layers are out of order");
    const nlohmann::json& uses = member(layer, "uses", source);
    if (!uses.is_array() || uses.empty() || std::ssize(uses) > kMostExperts) fail(source, "it has no uses");
    ExpertCounts& counts = hot.uses.emplace_back();
    for (const nlohmann::json& each : uses) counts.push_back(count_of(each, "uses", kMost, source));
    const int64_t choices = count_of(member(layer, "choices", source), "choices", kMost * kMostExperts, source);
    if (std::reduce(counts.begin(), counts.end(), int64_t{0}) != choices) fail(source, "uses are not its choices");
  }
  return hot;
}

// Counts of another model have other layers, or other numbers of experts. The name of the packed file tells models of
// one shape apart.
bool of_one_model(const HotExperts& a, const HotExperts& b) {
  const auto have_as_many = [](const ExpertCounts& of_a, const ExpertCounts& of_b) {
    return of_a.size() == of_b.size();
  };
  return a.packed == b.packed && a.layers == b.layers && std::ranges::equal(a.uses, b.uses, have_as_many);
}

// Earlier uses count half. So old habits fade over a few runs, and one odd run does not replace them.
HotExperts uses_behind(const HotExperts& earlier, const HotExperts& now) {
  TANDEM_CHECK(of_one_model(earlier, now), "uses of one model");
  HotExperts both = now;
  for (size_t l = 0; l < both.uses.size(); ++l)
    for (size_t e = 0; e < both.uses[l].size(); ++e)
      both.uses[l][e] = std::min(both.uses[l][e] + earlier.uses[l][e] / 2, kMost);
  return both;
}

// A run without a pass has nothing worth keeping.
bool has_choices(const HotExperts& hot) {
  return std::ranges::any_of(hot.uses, [](const ExpertCounts& counts) {
    return std::ranges::any_of(counts, [](int64_t uses) { return uses > 0; });
  });
}

}  // namespace tandem
