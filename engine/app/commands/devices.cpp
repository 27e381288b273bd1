// `tandem devices`: every device that can be opened here, and what it has proven about itself.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/app/commands/commands.h"
#include "engine/app/common_flags.h"
#include "engine/app/flag_values.h"
#include "engine/app/report.h"
#include "engine/app/scarcity.h"
#include "engine/device/device_json.h"
#include "engine/device/pair_self_test.h"
#include "engine/device/registry.h"
#include "engine/run/pass/core_layout.h"
#include "sync/affinity.h"
#include "sync/block_reader.h"
#include "sync/error.h"

namespace tandem::app {

namespace {

using nlohmann::json;

// The report on one id: the device, or the reason why it could not be opened.
struct Finding {
  std::string id;
  std::unique_ptr<Device> device;  // stays open, to be tested together with the others
  std::optional<DeviceInfo> info;
  std::string problem;
  std::string name;  // name of a device that could not be opened, if known
};

// The command reports what is wrong with a machine, so a device that cannot be opened is a finding and not a failure.
Finding look_at(const std::string& id, const DeviceOptions& options) {
  Finding finding{id, {}, {}, {}, {}};
  try {
    finding.device = open_device(id, options);
    finding.info = finding.device->info();
  } catch (const Error& error) {
    finding.problem = error.what();
  }
  return finding;
}

json to_json(const Finding& finding) {
  if (!finding.info) {
    json report = {{"id", finding.id}, {"error", finding.problem}};
    if (!finding.name.empty()) report["name"] = finding.name;
    return report;
  }
  return tandem::to_json(*finding.info);
}

// A line is left out if it would say nothing: no driver, no fixed cores, no card. "quotients" appears only for a device
// that rounds differently, "kernels" only where the user wants to know more.
void print(const Finding& finding, bool with_kernels) {
  if (!finding.info) {
    std::cout << finding.id << (finding.name.empty() ? "" : "  ") << finding.name
              << "\n  cannot be used: " << finding.problem << "\n";
    return;
  }
  const DeviceInfo& info = *finding.info;
  auto noted = [](bool yes, const std::string& note) {
    return std::string(yes ? "yes" : "no") + (note.empty() ? "" : ", " + note);
  };
  std::cout << info.id << "  " << info.name << "\n";
  if (!info.driver.empty()) std::cout << "  driver     " << info.driver << "\n";
  std::cout << "  kind       " << name_of(info.kind);
  if (info.family != KernelFamily::none) std::cout << ", kernels for " << name_of(info.family);
  std::cout << ", " << info.compute_units << " compute unit" << (info.compute_units == 1 ? "" : "s");
  if (!info.units_note.empty()) std::cout << " (" << info.units_note << ")";
  if (!info.cores.empty()) {
    std::cout << ", on host core";
    for (int core : info.cores) std::cout << " " << core;
  }
  if (const std::string card = to_string(info.card); !card.empty())
    std::cout << "\n  card       " << card << (info.discrete ? ", with memory of its own behind a bus" : "");
  std::cout << "\n  memory     " << info.memory_bytes / 1000000 << " MB, one allocation at most "
            << info.max_allocation_bytes / 1000000 << " MB"
            << (info.own_memory ? "; its own: weights are copied there" : "") << "\n";
  std::cout << "  zero copy  " << noted(info.zero_copy, info.zero_copy_note) << "\n";
  std::cout << "  fused fma  " << noted(info.fused_fma, info.rounds_to_f16 ? "matmul operands rounded to f16" : "")
            << "\n";
  if (!info.exact_quotients) std::cout << "  quotients  are not rounded once: other bits than other devices'\n";
  if (with_kernels)
    for (const std::string& note : info.kernels) std::cout << "  kernels    " << note << "\n";
  for (const PolicyTest& test : info.policies) {
    std::cout << "  wait       " << name_of(test.policy) << ": " << noted(test.passed, test.reason) << "\n";
  }
}

// Two interfaces to one card. Texts use the first one.
struct OneCard {
  std::string used, other, why;
};

// Takes the interfaces card by card, and pairs the best interface of each card with its others.
std::vector<OneCard> find_one_card(const std::vector<Finding>& findings) {
  const auto is_open = [&](const KnownGpu& gpu) {
    return std::ranges::any_of(findings, [&](const Finding& one) { return one.id == gpu.id && one.info; });
  };
  // With fewer than two open GPUs, drivers are not asked about cards.
  const auto has_card = [](const Finding& one) {
    return one.info && one.info->kind == DeviceKind::gpu && one.info->cores.empty();
  };
  if (std::ranges::count_if(findings, has_card) < 2) return {};
  std::vector<KnownGpu> left = known_gpus();
  std::erase_if(left, [&](const KnownGpu& gpu) { return !is_open(gpu); });
  std::vector<OneCard> all;
  while (!left.empty()) {
    // `first` names the card. `best` may be another interface to it. Every round removes one whole card, so the
    // loop ends.
    const KnownGpu first = left.front(), best = left[best_of(left)];
    for (const KnownGpu& gpu : left)
      if (gpu.id != best.id && is_same_card(gpu, first)) all.push_back({best.id, gpu.id, why_preferred(best, gpu)});
    std::erase_if(left, [&](const KnownGpu& gpu) { return gpu.id == first.id || is_same_card(gpu, first); });
  }
  return all;
}

json to_json(const OneCard& one) { return {{"used", one.used}, {"other", one.other}, {"why", one.why}}; }

// Tests hand-overs between every two open devices. test_pair() tests both directions, so each pair is taken once. No
// other work may run on its devices meanwhile, so pairs are tested one after another.
std::vector<PairTest> test_pairs(const std::vector<Finding>& findings, sync::Pool& pool) {
  std::vector<PairTest> tests;
  for (size_t a = 0; a < findings.size(); ++a) {
    for (size_t b = a + 1; b < findings.size(); ++b) {
      if (!findings[a].device || !findings[b].device) continue;
      for (PairTest& test : test_pair(*findings[a].device, *findings[b].device, pool)) tests.push_back(std::move(test));
    }
  }
  return tests;
}

// Every device of this machine: those that can be opened, and those whose drivers are known to end the process.
std::vector<Finding> look_at_all(const DeviceOptions& options) {
  std::vector<Finding> findings;
  for (const std::string& id : available_devices()) findings.push_back(look_at(id, options));
  for (const UnusableDevice& one : unusable_devices()) findings.push_back({one.id, {}, {}, one.reason, one.name});
  return findings;
}

json to_json(const PairTest& test) {
  return {{"from", test.from}, {"to", test.to}, {"passed", test.passed}, {"reason", test.reason}};
}

// Error if REQUIRE_... asks for a device that is missing. A device that --device left out is not missing. A device that
// was tried and could not be opened is.
void require(const char* variable, const std::string& prefix, const std::vector<Finding>& findings) {
  const char* value = std::getenv(variable);
  const std::string text = value == nullptr ? "" : value;
  if (text.empty() || text == "0") return;
  if (text != "1") throw WrongUsage(std::string(variable) + ": '" + text.substr(0, 80) + "' is neither 1 nor 0");
  std::string problems;
  bool looked = false;
  for (const Finding& finding : findings) {
    if (!finding.id.starts_with(prefix)) continue;
    if (finding.info) return;
    looked = true;
    problems += finding.id + " cannot be used: " + finding.problem + ". ";
  }
  const auto available = available_devices();
  if (!looked && std::ranges::any_of(available, [&](const std::string& id) { return id.starts_with(prefix); })) return;
  throw Error("a required device is missing", prefix + " (" + variable + "=1)",
              problems + "Install its driver; `./dev setup` installs PoCL for OpenCL");
}

// Opens every device, tests each pair, and reports as JSON or text. Drivers are configured before anything opens,
// because a driver for CPU cores reads its number of cores only once. REQUIRE_... variables are checked before the pair
// tests, so a missing device is reported early.
int devices_command(const CommonFlags& flags) {
  apply_verbosity(flags);
  const CoreLayout layout = lay_out_cores(usable_cores(), flags.engine.threads);
  DeviceOptions options;
  options.gpu_cores = layout.gpu;
  options.npu_cores = layout.npu;
  configure_drivers(options);
  sync::Pool pool;  // outlives the devices, which import its memory
  std::vector<Finding> findings;
  if (flags.engine.devices.empty()) findings = look_at_all(options);
  for (const std::string& id : flags.engine.devices) findings.push_back(look_at(id, options));
  const std::vector<std::string> untried =
      flags.engine.devices.empty() ? untried_interfaces() : std::vector<std::string>{};
  require("REQUIRE_OPENCL", "opencl", findings);
  require("REQUIRE_VULKAN", "vulkan", findings);
  const std::vector<PairTest> pairs = test_pairs(findings, pool);
  const std::vector<OneCard> one_card = find_one_card(findings);
  if (flags.json) {
    json cards = json::array();
    for (const OneCard& one : one_card) cards.push_back(to_json(one));
    json devices = json::array();
    for (const Finding& finding : findings) devices.push_back(to_json(finding));
    json hand_overs = json::array();
    for (const PairTest& test : pairs) hand_overs.push_back(to_json(test));
    print_json({{"devices", devices},
                {"one_card", cards},
                {"pairs", hand_overs},
                {"untried", untried},
                {"storage_reads", sync::block_method_here()},
                {"layout",
                 {{"gpu_cores", layout.gpu},
                  {"npu_cores", layout.npu},
                  {"orchestrator_core", layout.orchestrator},
                  {"may_spin", layout.may_spin}}}});
  } else {
    for (const Finding& finding : findings) print(finding, flags.verbosity > 0);
    for (const OneCard& one : one_card)
      std::cout << "one card   " << one.used << " and " << one.other << " are one card; texts use " << one.used << ": "
                << one.why << "\n";
    for (const PairTest& test : pairs) {
      std::cout << "hand-over  " << test.from << " to " << test.to << ": " << (test.passed ? "yes, " : "no, ")
                << test.reason << "\n";
    }
    for (const std::string& reason : untried)
      std::cout << "not tried  drivers of " << reason << ": a driver that crashes ends this program\n";
    std::cout << "storage    experts are read by " << sync::block_method_here() << "\n";
    std::cout << "cores: " << to_string(layout) << "\n";
  }
  if (const std::string note = scarcity_of_drivers(); !note.empty()) std::cerr << "note: " << note << "\n";
  // A device that the user named and that cannot be used is a failure. A device that was only found is part
  // of the report.
  for (const Finding& finding : findings) {
    if (!finding.info && !flags.engine.devices.empty()) return kFailed;
  }
  return kDone;
}

}  // namespace

void add_devices(CLI::App& app, Action& action) {
  auto flags = std::make_shared<CommonFlags>();
  add_device_flag(app, *flags);
  add_threads_flag(app, flags->engine.threads);
  add_output_flags(app, *flags);
  app.callback([flags, &action] { action = [flags] { return devices_command(*flags); }; });
}

}  // namespace tandem::app
