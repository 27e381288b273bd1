#include "engine/plan/model_clock/soc_profile.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include "engine/plan/model_clock/profiles/embedded.h"
#include "sync/error.h"
#include "sync/json_text.h"

namespace tandem {
namespace {

using Json = nlohmann::json;
using P = SocProfile;

// One key of a profile: a function that finds its value in the struct, and the range of a number.
struct Key {
  const char* path;  // "gpu.flops"
  std::variant<double& (*)(P&), int64_t& (*)(P&), bool& (*)(P&), std::vector<int64_t>& (*)(P&)> place;
  double least = 0, most = 1e15;
  bool open = false;      // `least` itself is not allowed
  bool optional = false;  // a missing key keeps the struct's default
};

// Places of the keys: a member of a section, and a member of the profile itself.
template <auto Section, auto Member>
auto& in(P& profile) {
  return profile.*Section.*Member;
}
template <auto Member>
auto& top(P& profile) {
  return profile.*Member;
}

// Bounds of sides of arrays and of tokens, which keep products within 64 bits.
constexpr double kSide = 4096, kTokens = 1 << 20;

// Keys that formulas divide by are `open`.
const Key kKeys[] = {
    {"memory.peak_bytes_per_second", in<&P::memory, &P::Memory::peak_bytes_per_second>, 0, 1e15, true},
    {"memory.shared_bytes_per_second", in<&P::memory, &P::Memory::shared_bytes_per_second>, 0, 1e15, true},
    {"gpu.flops", in<&P::gpu, &P::Gpu::flops>, 0, 1e18, true},
    {"gpu.attention_flops", in<&P::gpu, &P::Gpu::attention_flops>, 0, 1e18, true},
    {"gpu.decode_attention_flops", in<&P::gpu, &P::Gpu::decode_attention_flops>, 0, 1e18, false, true},
    {"gpu.bytes_per_second", in<&P::gpu, &P::Gpu::bytes_per_second>, 0, 1e15, true},
    {"gpu.submit_seconds", in<&P::gpu, &P::Gpu::submit_seconds>, 0, 1},
    {"gpu.submit_empty_seconds", in<&P::gpu, &P::Gpu::submit_empty_seconds>, 0, 1},
    {"npu.float16", in<&P::npu, &P::Npu::float16>},
    {"npu.int8_rate", in<&P::npu, &P::Npu::int8_rate>, 0, 64, false, true},
    {"npu.array_rows", in<&P::npu, &P::Npu::array_rows>, 1, kSide},
    {"npu.array_cols", in<&P::npu, &P::Npu::array_cols>, 1, kSide},
    {"npu.arrays", in<&P::npu, &P::Npu::arrays>, 1, kSide},
    {"npu.clock_hz", in<&P::npu, &P::Npu::clock_hz>, 0, 1e12, true},
    {"npu.stationary_bytes", in<&P::npu, &P::Npu::stationary_bytes>, 1, 1e15},
    {"npu.fill_bytes_per_second", in<&P::npu, &P::Npu::fill_bytes_per_second>, 0, 1e18, true},
    {"npu.stream_bytes_per_second", in<&P::npu, &P::Npu::stream_bytes_per_second>, 0, 1e18, true},
    {"npu.bytes_per_second", in<&P::npu, &P::Npu::bytes_per_second>, 0, 1e15, true},
    {"npu.weight_bytes", in<&P::npu, &P::Npu::weight_bytes>, 0, 8, true},
    {"npu.decode_weight_bytes", in<&P::npu, &P::Npu::decode_weight_bytes>, 0, 8, true},
    {"npu.decode_tokens", in<&P::npu, &P::Npu::decode_tokens>, 0, kTokens},
    {"npu.graph_tokens", in<&P::npu, &P::Npu::graph_tokens>, 1, kTokens},
    {"npu.launch_seconds", in<&P::npu, &P::Npu::launch_seconds>, 0, 1},
    {"npu.compile_graph_seconds", in<&P::npu, &P::Npu::compile_graph_seconds>, 0, 1e3},
    {"npu.compile_element_seconds", in<&P::npu, &P::Npu::compile_element_seconds>, 0, 1},
    {"npu.load_bytes_per_second", in<&P::npu, &P::Npu::load_bytes_per_second>, 0, 1e15, true, true},
    {"sync.copy_seconds", in<&P::sync, &P::Sync::copy_seconds>, 0, 1},
    {"sync.blocking_seconds", in<&P::sync, &P::Sync::blocking_seconds>, 0, 1},
    {"sync.fast_seconds", in<&P::sync, &P::Sync::fast_seconds>, 0, 1},
    {"sync.sleep_seconds", in<&P::sync, &P::Sync::sleep_seconds>, 0, 1},
    {"power.base_watts", in<&P::power, &P::Power::base_watts>, 0, 1e4},
    {"power.gpu_watts", in<&P::power, &P::Power::gpu_watts>, 0, 1e4},
    {"power.npu_watts", in<&P::power, &P::Power::npu_watts>, 0, 1e4},
    {"power.cpu_watts", in<&P::power, &P::Power::cpu_watts>, 0, 1e4},
    {"load.gpu_share", in<&P::load, &P::Load::gpu_share>, 0, 0.99},
    {"load.period_seconds", in<&P::load, &P::Load::period_seconds>, 0, 1e3, true},
    {"experts.launch_seconds", in<&P::experts, &ChipExperts::launch_seconds>, 0, 1, false, true},
    {"experts.launch_joules", in<&P::experts, &ChipExperts::launch_joules>, 0, 1e3, false, true},
    {"experts.weight_bytes_per_second", in<&P::experts, &ChipExperts::weight_bytes_per_second>, 0, 1e15, true, true},
    {"experts.weight_byte_joules", in<&P::experts, &ChipExperts::weight_byte_joules>, 0, 1, false, true},
    {"experts.flops", in<&P::experts, &ChipExperts::flops>, 0, 1e18, true, true},
    {"experts.flop_joules", in<&P::experts, &ChipExperts::flop_joules>, 0, 1, false, true},
    {"experts.full_rate_rows", in<&P::experts, &ChipExperts::full_rate_rows>, 0, kTokens, false, true},
    {"experts.beyond_rate_share", in<&P::experts, &ChipExperts::beyond_rate_share>, 0, 1e3, false, true},
    {"experts.graph_bytes", in<&P::experts, &ChipExperts::graph_bytes>, 0, 1e15, false, true},
    {"experts.queues", in<&P::experts, &ChipExperts::queues>, 1, 1024, false, true},
    {"experts.queue_gain", in<&P::experts, &ChipExperts::queue_gain>, 0, 1, false, true},
    {"experts.static_watts", in<&P::experts, &ChipExperts::static_watts>, 0, 1e4, false, true},
    {"experts.attention_flops", in<&P::experts, &ChipExperts::attention_flops>, 0, 1e18, true, true},
    {"experts.attention_watts", in<&P::experts, &ChipExperts::attention_watts>, 0, 1e4, false, true},
    {"experts.cpu_flops", in<&P::experts, &ChipExperts::cpu_flops>, 0, 1e18, true, true},
    {"experts.cpu_attention_flops", in<&P::experts, &ChipExperts::cpu_attention_flops>, 0, 1e18, true, true},
    {"experts.cpu_watts", in<&P::experts, &ChipExperts::cpu_watts>, 0, 1e4, false, true},
    {"experts.naive_sync_seconds", in<&P::experts, &ChipExperts::naive_sync_seconds>, 0, 1e3, false, true},
    {"experts.host_seconds_per_token", in<&P::experts, &ChipExperts::host_seconds_per_token>, 0, 1e3, false, true},
    {"experts.host_core_share", in<&P::experts, &ChipExperts::host_core_share>, 0, 1, false, true},
    {"experts.communication_watts", in<&P::experts, &ChipExperts::communication_watts>, 0, 1e4, false, true},
    {"passes.weight_bytes_per_second", in<&P::passes, &ChipPasses::weight_bytes_per_second>, 0, 1e15, true, true},
    {"passes.flops", in<&P::passes, &ChipPasses::flops>, 0, 1e18, true, true},
    {"passes.prefill_tokens", in<&P::passes, &ChipPasses::prefill_tokens>, 1, kTokens, false, true},
    {"passes.decode_tokens", in<&P::passes, &ChipPasses::decode_tokens>, 1, kTokens, false, true},
    {"passes.block_layers", in<&P::passes, &ChipPasses::block_layers>, 1, 1024, false, true},
    {"passes.cpu_flops", in<&P::passes, &ChipPasses::cpu_flops>, 0, 1e18, true, true},
    {"passes.cpu_token_share", in<&P::passes, &ChipPasses::cpu_token_share>, 0, 1, false, true},
    {"weight_bits", top<&P::weight_bits>, 0, 64},
    {"activation_bytes", top<&P::activation_bytes>, 0, 8, true},
    {"row_step", top<&P::row_step>, 1, kTokens},
    {"token_step", top<&P::token_step>, 1, kTokens},
    {"joined_matmuls", top<&P::joined_matmuls>, 0, 1, false, true},
};

// All errors name the file, the key and what is expected.
[[noreturn]] void reject(const std::string& source, const std::string& key, const std::string& expected) {
  throw Error("bad processor profile", source + ": " + key,
              "expected " + expected + "; docs/model_clock.md has the schema");
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

// The text of an error, for example "a number above 0, at most 1e+15".
std::string range_text(const Key& key, const char* kind) {
  return std::string(kind) + (key.open ? " above " : " from ") + short_number(key.least) +
         (key.open ? ", at most " : " to ") + short_number(key.most);
}

bool within(const Key& key, double value) {
  return value <= key.most && (key.open ? value > key.least : value >= key.least);
}

// Refuses numbers with a fraction instead of rounding them.
int64_t whole_number(const Key& key, const Json& value, const std::string& source, const char* kind) {
  const bool fits = value.is_number_integer() && within(key, value.get<double>());
  if (!fits) reject(source, key.path, range_text(key, kind));
  return value.get<int64_t>();
}

// Checks a JSON value by its key and writes it to its place; one overload for each type of a value.
struct Read {
  P& profile;
  const Key& key;
  const Json& value;
  const std::string& source;

  void operator()(double& (*place)(P&)) const {
    if (!value.is_number() || !within(key, value.get<double>())) reject(source, key.path, range_text(key, "a number"));
    place(profile) = value.get<double>();
  }
  void operator()(int64_t& (*place)(P&)) const { place(profile) = whole_number(key, value, source, "a whole number"); }
  void operator()(bool& (*place)(P&)) const {
    if (!value.is_boolean()) reject(source, key.path, "true or false");
    place(profile) = value.get<bool>();
  }
  // Sizes must rise, because planners search them by bisection.
  void operator()(std::vector<int64_t>& (*place)(P&)) const {
    const char* expected = "a list of rising whole numbers, each";
    if (!value.is_array() || value.empty()) reject(source, key.path, range_text(key, expected));
    std::vector<int64_t> list;
    for (const Json& item : value) {
      list.push_back(whole_number(key, item, source, expected));
      if (list.size() > 1 && list.back() <= list[list.size() - 2]) reject(source, key.path, range_text(key, expected));
    }
    place(profile) = std::move(list);
  }
};

std::string text_of(const Json& json, const char* key, const std::string& source) {
  if (!json.contains(key) || !json[key].is_string()) reject(source, key, "a text");
  return json[key].get<std::string>();
}

// {"gpu": {"flops": {...}}, "row_step": {...}} as a map from paths ("gpu.flops") to their entries.
std::map<std::string, const Json*> flattened(const Json& json, const std::string& source) {
  std::map<std::string, const Json*> flat;
  const auto add = [&](const std::string& path, const Json& entry) {
    const bool good = entry.is_object() && entry.size() == 2 && entry.contains("value") && entry.contains("source") &&
                      entry["source"].is_string();
    if (!good) reject(source, path, R"({"value": ..., "source": "..."})");
    flat[path] = &entry;
  };
  for (const auto& [name, value] : json.items()) {
    if (name == "schema" || name == "name" || name == "description" || name == "based_on") continue;
    if (!value.is_object()) reject(source, name, R"({"value": ..., "source": "..."}, or a section of such keys)");
    if (value.contains("value")) {
      add(name, value);
      continue;
    }
    for (const auto& [inner, entry] : value.items()) add(name + "." + inner, entry);
  }
  return flat;
}

// The table is short enough for a search.
const Key* find_key(std::string_view path) {
  for (const Key& key : kKeys)
    if (path == key.path) return &key;
  return nullptr;
}

// The sections `experts` and `passes` have all of their keys or none.
bool required(const Key& key, const P& profile) {
  for (const std::string_view section : {"experts.", "passes."}) {
    if (std::string_view(key.path).starts_with(section))
      return std::ranges::any_of(profile.sources,
                                 [&](const auto& source) { return source.first.starts_with(section); });
  }
  return !key.optional;
}

// The values of the built-in profile that the file is based on. Each source then says that the value was copied, so
// that every number keeps its origin.
P base_of(const Json& json, const std::string& source) {
  if (!json.contains("based_on")) return {};
  const std::string name = text_of(json, "based_on", source);
  const std::string_view text = embedded_soc_profile(name);
  if (text.empty()) reject(source, "based_on", "the name of a built-in profile");
  // A base must not have a base itself, so the recursion ends.
  if (text.find("\"based_on\"") != std::string_view::npos) reject(source, "based_on", "a profile with every key");
  P base = parse_soc_profile(text, name);
  for (auto& [key, note] : base.sources) note = "taken over from " + name + ": " + note;
  return base;
}

}  // namespace

// Begins with the base's values, replaces those that the text has, and then asks for all required keys.
SocProfile parse_soc_profile(std::string_view text, const std::string& source) {
  const Json json = parse_json(text);
  if (!json.is_object()) reject(source, "the file", "one JSON object");
  if (!json.contains("schema") || json["schema"] != kSocProfileSchema) {
    reject(source, "schema", std::to_string(kSocProfileSchema));
  }
  P profile = base_of(json, source);
  profile.name = text_of(json, "name", source);
  profile.description = text_of(json, "description", source);
  for (const auto& [path, entry] : flattened(json, source)) {
    const Key* key = find_key(path);
    if (key == nullptr) reject(source, path, "another name: there is no such key");
    std::visit(Read{profile, *key, entry->at("value"), source}, key->place);
    profile.sources[path] = entry->at("source").get<std::string>();
  }
  for (const Key& key : kKeys) {
    if (required(key, profile) && !profile.sources.contains(key.path))
      reject(source, key.path, "a value: the key is missing");
  }
  return profile;
}

// Writes the keys in the order of the table, with their sources. Optional keys that nobody has set are left out.
std::string to_json(const SocProfile& profile) {
  using Ordered = nlohmann::ordered_json;
  Ordered json = {{"schema", kSocProfileSchema}, {"name", profile.name}, {"description", profile.description}};
  P copy = profile;  // the places of keys are not const
  for (const Key& key : kKeys) {
    const std::string path = key.path;
    if (key.optional && !profile.sources.contains(path)) continue;
    const size_t dot = path.find('.');
    Ordered& place = dot == std::string::npos ? json[path] : json[path.substr(0, dot)][path.substr(dot + 1)];
    std::visit([&](auto get) { place["value"] = get(copy); }, key.place);
    const auto note = profile.sources.find(path);
    place["source"] = note == profile.sources.end() ? "" : note->second;
  }
  return json.dump(2) + "\n";
}

// The names that `--soc` takes without a file.
std::vector<std::string> soc_profile_names() {
  std::vector<std::string> names;
  for (const EmbeddedProfile& profile : embedded_profiles()) names.emplace_back(profile.name);
  return names;
}

std::string_view embedded_soc_profile(std::string_view name) {
  for (const EmbeddedProfile& profile : embedded_profiles())
    if (name == profile.name) return profile.text;
  return {};
}

// Built-in names come first, and any other name must be that of a JSON file.
SocProfile soc_profile(const std::string& name_or_path) {
  if (const std::string_view text = embedded_soc_profile(name_or_path); !text.empty()) {
    return parse_soc_profile(text, name_or_path);
  }
  if (!name_or_path.ends_with(".json")) {
    std::string names;
    for (const std::string& name : soc_profile_names()) names += (names.empty() ? "" : ", ") + name;
    throw Error("unknown processor profile", name_or_path, "Use a .json file, or one of: " + names);
  }
  return parse_soc_profile(read_json_file(name_or_path, "the processor profile"), name_or_path);
}

// Calibration and rows of papers read numbers by their paths.
double number_of(const SocProfile& profile, std::string_view path) {
  const Key* key = find_key(path);
  P copy = profile;
  if (key != nullptr) {
    if (const auto* place = std::get_if<double& (*)(P&)>(&key->place)) return (*place)(copy);
    if (const auto* place = std::get_if<int64_t& (*)(P&)>(&key->place)) return static_cast<double>((*place)(copy));
  }
  throw Error("a processor profile has no such number", std::string(path));
}

// Goes through JSON so that the value passes the same checks as one from a file.
void set_number(SocProfile& profile, std::string_view path, double value, std::string source) {
  const Key* key = find_key(path);
  if (key == nullptr) throw Error("a processor profile has no such number", std::string(path));
  const bool whole = std::holds_alternative<int64_t& (*)(P&)>(key->place);
  const Json json = whole ? Json(static_cast<int64_t>(std::llround(value))) : Json(value);
  std::visit(Read{profile, *key, json, profile.name}, key->place);
  profile.sources[std::string(path)] = std::move(source);
}

}  // namespace tandem
