#include "engine/device/proof/prover.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/device/proof/child.h"
#include "engine/device/proof/driver_files.h"
#include "engine/device/proof/verdict_json.h"
#include "sync/error.h"

namespace tandem::proof {
namespace {

using nlohmann::json;

// What one child said until it ended (prove_main.cpp writes it).
struct Report {
  bool listed = false, through = false;
  std::vector<Identity> devices;
  std::map<size_t, std::string> unfit;                         // devices that compute wrong values, and how
  std::map<size_t, std::map<std::string, std::string>> lacks;  // steps that showed something to be missing
  std::map<size_t, Seen> seen;
  int at = -1;       // the device it was opening
  std::string step;  // and what it was about to do

  void take(const std::string& line) {
    try {
      understand(json::parse(line));
    } catch (const json::exception&) {
      return;  // a driver that writes where it should not
    }
  }

 private:
  void understand(const json& said) {
    if (!said.is_object()) return;
    if (said.contains("device")) devices.push_back(identity_from(said["device"]));
    if (said.contains("listed")) listed = true;
    if (said.contains("opens")) at = said["opens"].get<int>(), step = "open";
    if (said.contains("step")) step = said["step"].get<std::string>();
    if (said.contains("unfit") && at >= 0) unfit[static_cast<size_t>(at)] = said["unfit"].get<std::string>();
    if (said.contains("lacks") && at >= 0) lacks[static_cast<size_t>(at)][said.at("lacks")] = said.at("why");
    if (said.contains("seen") && at >= 0) seen[static_cast<size_t>(at)] = seen_from(said["seen"]);
    if (said.contains("through")) through = true;
  }
};

std::string spared_as_json(const std::vector<DeviceVerdict>& devices) {
  json all = json::array();
  for (const DeviceVerdict& one : devices) all.push_back(one.spared);
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

class Trials {
 public:
  Trials(Api api, const Prover& prover) : api_(api), prover_(prover) { trial_.verdict.tried = true; }

  // Opens all devices of the drivers that the environment names; false: listing them is fatal, `end()` says how.
  bool open_all(const Environment& environment) {
    std::vector<DeviceVerdict>& devices = trial_.verdict.devices;
    devices.clear();
    for (size_t first = 0;;) {
      Report report = run(environment, first);
      if (!report.listed) return false;
      devices.resize(report.devices.size());
      for (size_t i = 0; i < devices.size(); ++i) devices[i].identity = report.devices[i];
      for (const auto& [index, reason] : report.unfit)
        if (index < devices.size()) devices[index].problem = reason;
      for (const auto& [index, steps] : report.lacks)
        for (const auto& [step, why] : steps)
          if (index < devices.size() && may_be_spared(step)) devices[index].spared[step] = why;
      for (const auto& [index, seen] : report.seen)
        if (index < devices.size()) devices[index].seen = seen;
      if (report.through) return true;
      if (report.at < 0 || std::cmp_greater_equal(report.at, devices.size())) return false;
      first = static_cast<size_t>(report.at);
      const std::string what =
          "opening it in a child process, the child " + end_.in_one() + " (at: " + report.step + ")";
      if (may_be_spared(report.step) && !devices[first].spared.contains(report.step)) {
        devices[first].spared[report.step] = "a process that tried it " + end_.in_one();
      } else {
        devices[first++].problem = what;
      }
    }
  }

  // Adds drivers one by one and leaves out those with which devices cannot be listed.
  void leave_out_fatal(const std::vector<std::string>& manifests) {
    std::vector<std::string> usable;
    for (const std::string& manifest : manifests) {
      usable.push_back(manifest);
      const Report report = run(only(api_, usable, prover_.folder), std::nullopt);
      if (report.listed) continue;
      trial_.verdict.drivers.push_back(
          {manifest, "listing its devices in a child process, the child " + end_.in_one()});
      usable.pop_back();
    }
    trial_.verdict.manifests = usable;
    if (!open_all(only(api_, usable, prover_.folder))) trial_.verdict.devices.clear();
  }

  Trial result() && { return std::move(trial_); }

 private:
  // first: the device to begin with; nothing: devices are listed only.
  Report run(const Environment& drivers, std::optional<size_t> first) {
    Environment environment = drivers;
    environment.emplace_back("TANDEM_PROVER", "");  // the child is the one that tries
    Report report;
    end_ = run_child(prover_.program,
                     {name_of(api_), first ? std::to_string(*first) : "list", spared_as_json(trial_.verdict.devices)},
                     environment, prover_.silence, [&](const std::string& line) { report.take(line); });
    if (end_.by_others) trial_.lasting = false;
    return report;
  }

  Api api_;
  const Prover& prover_;
  Trial trial_;
  ChildEnd end_;
};

}  // namespace

bool may_be_spared(const std::string& step) {
  static const char* const kSpared[] = {"prefetch",      "zero copy",     "gates",        "stamps",
                                        "vpdpbusd",      "vpmaddubsw",    "dot products", "kept pipelines",
                                        "kept programs", "kept assembly", "first look"};
  if (step.starts_with("policy ")) return step != "policy blocking";
  return std::ranges::count(kSpared, step) > 0;
}

Trial try_out(Api api, const std::vector<std::string>& manifests, const Prover& prover) {
  Trials trials(api, prover);
  if (!trials.open_all({})) trials.leave_out_fatal(manifests);
  return std::move(trials).result();
}

}  // namespace tandem::proof
