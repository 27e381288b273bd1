#include "engine/device/proof/verdict.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/proof/verdict_json.h"
#include "sync/json_text.h"

namespace tandem::proof {
namespace {

using nlohmann::json;
constexpr const char* kFormat = "tandem driver proof 4";

// The form of the file. A change of it needs another kFormat, so that older files do not count.
json to_json(const Verdict& verdict) {
  json devices = json::array(), drivers = json::array();
  for (const DeviceVerdict& one : verdict.devices)
    devices.push_back({{"identity", identity_as_json(one.identity)},
                       {"problem", one.problem},
                       {"spared", one.spared},
                       {"seen", seen_as_json(one.seen)}});
  for (const DriverVerdict& one : verdict.drivers)
    drivers.push_back({{"manifest", one.manifest}, {"problem", one.problem}});
  return {{"devices", devices},
          {"drivers", drivers},
          {"manifests", verdict.manifests},
          {"moment", verdict.moment},
          {"tried_at", verdict.tried_at}};
}

// Throws an exception of the JSON library if a part is missing or has another type.
Verdict from_json(const json& found) {
  Verdict verdict;
  verdict.tried = true;
  for (const json& one : found.at("devices"))
    verdict.devices.push_back(
        {identity_from(one.at("identity")), one.at("problem"), one.at("spared"), seen_from(one.at("seen"))});
  for (const json& one : found.at("drivers")) verdict.drivers.push_back({one.at("manifest"), one.at("problem")});
  verdict.manifests = found.at("manifests");
  verdict.moment = found.at("moment");
  verdict.tried_at = found.at("tried_at");
  return verdict;
}

// A driver's name and its last words may be no UTF-8. Bytes that are none are replaced.
std::string text_of(const json& value, int indent = -1) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

}  // namespace

// A spared step is a failure only if a process died of it. A driver that lacks something will lack it at the next
// trial too.
bool Verdict::all_well() const {
  return drivers.empty() && std::ranges::all_of(devices, [](const DeviceVerdict& one) {
           return one.problem.empty() && std::ranges::none_of(one.spared, [](const auto& step) {
                    return step.second.starts_with(kDiedOfStep);
                  });
         });
}

const char* name_of(Api api) { return api == Api::opencl ? "opencl" : "vulkan"; }

// The checksum is over the text as a reader will parse it, so bytes that are no UTF-8 are replaced first.
std::string to_text(const Verdict& verdict, const std::string& fingerprint) {
  const json said = json::parse(text_of(to_json(verdict)));
  return text_of(
      {{"format", kFormat}, {"fingerprint", fingerprint}, {"verdict", said}, {"checksum", gpu::fnv1a(text_of(said))}},
      1);
}

// Nothing: the text has another format, is about other drivers, is damaged, or holds a failure that is a day old.
std::optional<Verdict> from_text(const std::string& text, const std::string& fingerprint, int64_t now) {
  try {
    const json file = parse_json(text);
    if (!file.is_object()) return std::nullopt;
    if (file.at("format") != kFormat || file.at("fingerprint") != fingerprint) return std::nullopt;
    if (file.at("checksum") != gpu::fnv1a(text_of(file.at("verdict")))) return std::nullopt;
    Verdict verdict = from_json(file.at("verdict"));
    const bool recent = verdict.tried_at <= now && now - verdict.tried_at < kTriedAgainAfter_s;
    if (!verdict.all_well() && !recent) return std::nullopt;
    return verdict;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace tandem::proof
