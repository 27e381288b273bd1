#include "engine/device/proof/prover.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/device/proof/child.h"
#include "engine/device/proof/circumstances.h"
#include "engine/device/proof/compiled_files.h"
#include "engine/device/proof/driver_files.h"
#include "engine/device/proof/room.h"
#include "engine/device/proof/verdict_json.h"
#include "sync/error.h"

namespace tandem::proof {
namespace {

using nlohmann::json;
constexpr const char* kPocl = "Portable Computing Language";
// PoCL 5.0 and 6.0 die at this step, even with new files and enough room (docs/drivers.md).
constexpr const char* kKeptAssembly = "kept assembly";

// The report of one child until it ended (prove_main.cpp writes it). Lines that are no JSON are ignored.
struct Report {
  bool listed = false, through = false;
  std::vector<Identity> devices;
  std::map<size_t, std::string> unfit;                         // devices that compute wrong values, and the reason
  std::map<size_t, std::map<std::string, std::string>> lacks;  // steps that showed that something is missing
  std::map<size_t, Seen> seen;
  std::vector<uint64_t> built;  // keys of programs
  int at = -1;                  // device that it was opening
  std::string step;             // step that it was about to take

  void take(const std::string& line) {
    try {
      understand(json::parse(line));
    } catch (const json::exception&) {
      return;  // a line that a driver has written
    }
  }

 private:
  // Facts about a device belong to the one that was announced last ("opens").
  void understand(const json& said) {
    if (!said.is_object()) return;
    if (said.contains("device")) devices.push_back(identity_from(said["device"]));
    if (said.contains("listed")) listed = true;
    if (said.contains("opens")) at = said["opens"].get<int>(), step = "open";
    if (said.contains("step")) step = said["step"].get<std::string>();
    if (said.contains("unfit") && at >= 0) unfit[static_cast<size_t>(at)] = said["unfit"].get<std::string>();
    if (said.contains("lacks") && at >= 0) lacks[static_cast<size_t>(at)][said.at("lacks")] = said.at("why");
    if (said.contains("seen") && at >= 0) seen[static_cast<size_t>(at)] = seen_from(said["seen"]);
    if (said.contains("built")) built.push_back(said["built"].get<uint64_t>());
    if (said.contains("through")) through = true;
  }
};

std::string spared_as_json(const std::vector<DeviceVerdict>& devices) {
  json all = json::array();
  for (const DeviceVerdict& one : devices) all.push_back(one.spared);
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

// The trials of one interface's drivers, and the verdict that grows from them.
//
// Example: a child dies at the step "gates" of device 1. The next child begins at device 1 and is spared "gates". If it
// dies at "open", which cannot be spared, device 1 is unusable, and the third child begins at device 2.
class Trials {
 public:
  Trials(Api api, const Prover& prover) : api_(api), prover_(prover) {
    verdict_.tried = true;
    verdict_.tried_at = static_cast<int64_t>(std::time(nullptr));
    verdict_.moment = circumstances(written_folders());
  }

  // Opens all devices of the drivers that the environment names. Each child begins at the device at which the last one
  // died, and spares it the fatal step. A device that cannot do without the step is unusable, and the child begins
  // behind it. False: listing the devices is fatal, and end_ says how.
  bool open_all(const Environment& environment) {
    std::vector<DeviceVerdict>& devices = verdict_.devices;
    devices.clear();
    for (size_t first = 0;;) {
      Report report = run(environment, first);
      if (!report.through && made_anew(report)) {
        devices.clear();
        first = 0;
        continue;
      }
      if (!report.listed) return false;
      // A child lists all devices before it opens one. A device keeps the facts that earlier children have found out.
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
          "opening it in a child process, the child " + end_.in_one() + " (at: " + report.step + ")" + because();
      // A machine that lacked something says nothing about the step, so the step is then not spared.
      if (!want_ && may_be_spared(report.step) && !devices[first].spared.contains(report.step)) {
        devices[first].spared[report.step] = kDiedOfStep + end_.in_one();
      } else {
        devices[first++].problem = what;
      }
    }
  }

  // Adds drivers one by one and leaves out those with which devices cannot be listed. Then opens the devices of
  // the others.
  void leave_out_fatal(const std::vector<std::string>& manifests) {
    std::vector<std::string> usable;
    for (const std::string& manifest : manifests) {
      usable.push_back(manifest);
      const Report report = run(only(api_, usable, prover_.folder), std::nullopt);
      if (report.listed) continue;
      verdict_.drivers.push_back(
          {manifest, "listing its devices in a child process, the child " + end_.in_one() + because()});
      usable.pop_back();
    }
    verdict_.manifests = usable;
    if (!open_all(only(api_, usable, prover_.folder))) verdict_.devices.clear();
  }

  // A driver ends processes, and which one cannot be found out. So none of them may be loaded.
  void load_none(const Error& why) {
    verdict_.devices.clear();
    verdict_.drivers.clear();
    verdict_.may_load = false;
    verdict_.wanting = "a child process that listed the devices of all drivers " + end_.in_one() +
                       ", and which driver it was could not be found out: " + why.what();
    verdict_.remedy = kTemporaryAdvice;
  }

  Verdict result() && { return std::move(verdict_); }

 private:
  // Runs one child and notes why it ended. first: the device to begin with; nothing: devices are listed only.
  Report run(const Environment& drivers, std::optional<size_t> first) {
    Environment environment = drivers;
    environment.emplace_back("TANDEM_PROVER", "");  // the child is the one that tries
    Report report;
    const std::string from = first ? std::to_string(*first) : "list";
    end_ = run_child({prover_.program,
                      {name_of(api_), from, spared_as_json(verdict_.devices)},
                      environment,
                      prover_.silence,
                      std::string("a child process that tries the ") + name_of(api_) + " drivers"},
                     [&](const std::string& line) { report.take(line); });
    verdict_.built.insert(verdict_.built.end(), report.built.begin(), report.built.end());
    // A child that came through needs no reason. PoCL is known to die at this step, so no shortage of the machine is
    // looked for.
    const bool is_explained = report.through || report.step == kKeptAssembly;
    want_ = is_explained ? Want{} : want_behind(end_, written_folders());
    if (want_) verdict_.wanting = want_.what, verdict_.remedy = want_.remedy;
    return report;
  }
  // A child that dies of PoCL may have died of a file that PoCL has kept. Once, its files are set aside, and the next
  // child begins without any. True: that was done.
  bool made_anew(const Report& report) {
    if (prover_.compiled == nullptr || want_ || report.step == kKeptAssembly || std::exchange(made_anew_, true))
      return false;
    const bool opened = report.at >= 0 && std::cmp_less(report.at, report.devices.size());
    const std::string& words = end_.last_words;
    const bool of_pocl = opened ? report.devices[static_cast<size_t>(report.at)].driver.starts_with(kPocl)
                                : words.find(prover_.compiled->folder()) != std::string::npos;
    const std::string name = of_pocl ? prover_.compiled->set_aside() : "";
    if (name.empty()) return false;
    verdict_.built.clear();
    spdlog::warn("what PoCL had compiled is made anew, for a process that takes it {}: the old files are in {}",
                 end_.in_one(), name);
    return true;
  }
  std::string because() const { return want_ ? "; " + want_.what : ""; }

  Api api_;
  const Prover& prover_;
  Verdict verdict_;
  ChildEnd end_;  // how the last child ended
  Want want_;     // what the machine lacked at that end
  bool made_anew_ = false;
};

}  // namespace

// A device needs one policy, the blocking one. All other policies can be spared.
bool may_be_spared(const std::string& step) {
  static const char* const kSpared[] = {"prefetch",       "zero copy",     "gates",        "stamps",
                                        "vpdpbusd",       "vpmaddubsw",    "dot products", "matrix units",
                                        "kept pipelines", "kept programs", kKeptAssembly,  "first look"};
  if (step.starts_with("policy ")) return step != "policy blocking";
  return std::ranges::count(kSpared, step) > 0;
}

Verdict try_out(Api api, const std::vector<std::string>& manifests, const Prover& prover) {
  Trials trials(api, prover);
  if (trials.open_all({})) return std::move(trials).result();
  try {
    trials.leave_out_fatal(manifests);
  } catch (const Error& error) {
    trials.load_none(error);
  }
  return std::move(trials).result();
}

}  // namespace tandem::proof
