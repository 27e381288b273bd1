// How many operator tests a second does a headless machine run, and how many does a peer's suite run on the
// same driver?
//
// Runs the cases of the conformance suite (every operator, format and odd shape) on each target. Each case is built,
// computed by the reference in double precision, computed by the device, and compared. A case counts only if it is
// right. Prints a table and, with --json, rows.
// The peer is llama.cpp's test-backend-ops. --peer PATH runs it on the same Vulkan driver, as a whole or with
// --peer-ops one operator at a time. Each run takes --peer-seconds at most, and the cases that it calls OK count. The
// peer leaves CPU drivers out unless GGML_VK_VISIBLE_DEVICES=0 is set. Times are wall-clock. Run the bench twice: the
// first run fills the drivers' caches.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/device/host/host_device.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "tests/engine/device/run_case.h"

namespace {

using namespace tandem;
using namespace tandem::testing;
struct Result {
  std::string suite, device;
  int right = 0, wrong = 0, unsupported = 0;
  double seconds = 0;
  std::string ended = "finished";
};

// True when the device's result is right.
bool run_one(const OpCase& op_case, Bench& bench, Bench& reference, Result& result) {
  CaseMemory memory(bench.pool), expected_memory(reference.pool);
  const BuiltCase actual = op_case.build(memory);
  if (!bench.device->supports(actual.op).yes) {
    ++result.unsupported;
    return true;
  }
  const BuiltCase expected = op_case.build(expected_memory);
  reference.run({&expected.op, 1});
  bench.run({&actual.op, 1});
  const bool bytes = actual.outputs[0].type == ElementType::bytes;
  const bool right =
      close_to(expected, actual, bench.device->info().rounds_to_f16) && (!bytes || same_bits(expected, actual));
  ++(right ? result.right : result.wrong);
  return right;
}

// Runs every case on the device and on the host's reference. A case counts only if its result is right.
Result run_target(const Target& target) {
  const auto begin = Clock::now();
  Result result{"tandem", target.name};
  Bench bench, reference;
  bench.device = open_target(target, bench.messages);
  reference.device = make_host_device(HostArithmetic::reference, 1);
  for (const OpCase& op_case : all_cases()) {
    if (!run_one(op_case, bench, reference, result))
      std::fprintf(stderr, "wrong: %s on %s\n", op_case.name.c_str(), target.name.c_str());
  }
  result.seconds = seconds_since(begin);
  return result;
}

// op: one of the peer's operators, or empty for all.
Result run_peer(const std::string& path, const std::string& backend, const std::string& op, int limit_seconds) {
  Result result{op.empty() ? "test-backend-ops" : "test-backend-ops " + op, backend};
  const std::string command = "timeout " + std::to_string(limit_seconds) + " '" + path + "' test -b " + backend +
                              (op.empty() ? "" : " -o " + op) + " 2>/dev/null";
  const auto begin = Clock::now();
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) throw Error("the peer cannot be started", command);
  std::array<char, 4096> line{};
  while (std::fgets(line.data(), line.size(), pipe)) {
    const std::string text = line.data();
    if (text.find("not supported") != std::string::npos) {
      ++result.unsupported;
    } else if (text.find("FAIL") != std::string::npos && text.find('(') != std::string::npos) {
      ++result.wrong;
    } else if (text.find("OK") != std::string::npos && text.find('(') != std::string::npos) {
      ++result.right;
    }
  }
  const int status = pclose(pipe), code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.seconds = seconds_since(begin);
  if (code == 124)
    result.ended = "stopped";
  else if (code != 0)
    result.ended = "status " + std::to_string(code);
  if (result.right == 0)
    throw Error("the peer ran no case", command, "Is it built with Vulkan, and is GGML_VK_VISIBLE_DEVICES=0 set?");
  return result;
}

// Unsupported cases are counted apart, because a suite that skips much is fast.
void print(const std::vector<Result>& results, bool json) {
  if (json) {
    nlohmann::json rows = nlohmann::json::array();
    for (const Result& r : results)
      rows.push_back({{"suite", r.suite},
                      {"device", r.device},
                      {"right", r.right},
                      {"wrong", r.wrong},
                      {"unsupported", r.unsupported},
                      {"seconds", r.seconds},
                      {"cases_per_second", r.right / r.seconds},
                      {"ended", r.ended}});
    std::printf(
        "%s\n",
        nlohmann::json{{"schema", 1}, {"bench", "op_suite"}, {"clock", "measured"}, {"rows", rows}}.dump(1).c_str());
    return;
  }
  std::printf(
      "| suite | device | right | wrong | unsupported | s | cases/s (measured) | ended |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n");
  for (const Result& r : results)
    std::printf("| %s | %s | %d | %d | %d | %.1f | %.1f | %s |\n", r.suite.c_str(), r.device.c_str(), r.right, r.wrong,
                r.unsupported, r.seconds, r.right / r.seconds, r.ended.c_str());
}

}  // namespace

// Targets are those of the conformance suite. The peer is a program that was built elsewhere, and a time limit ends it.
int main(int argc, char** argv) {
  CLI::App app("op_suite: operator tests a second, on each target and of a peer");
  std::vector<std::string> names = {"opencl_simd", "vulkan_simd"};
  std::vector<std::string> peer_ops = {""};
  std::string peer, backend = "Vulkan0";
  int peer_seconds = 60;
  bool json = false;
  app.add_option("--target", names,
                 "conformance targets, comma separated: opencl_simd, opencl_simt, vulkan_simd, vulkan_simt, ...")
      ->delimiter(',');
  app.add_option("--peer", peer, "llama.cpp's test-backend-ops")->check(CLI::ExistingFile);
  app.add_option("--peer-backend", backend)->capture_default_str();
  app.add_option("--peer-ops", peer_ops, "the peer's operators, comma separated; without: its whole suite")
      ->delimiter(',');
  app.add_option("--peer-seconds", peer_seconds, "stop the peer after so long")->capture_default_str();
  app.add_flag("--json", json);
  CLI11_PARSE(app, argc, argv);
  try {
    std::vector<Result> results;
    for (const std::string& name : names) {
      const auto all = targets();
      const auto target = std::ranges::find_if(all, [&](const Target& t) { return name == t.name; });
      if (target == all.end()) throw Error("there is no such target", name);
      if (const std::string reason = missing(*target); !reason.empty())
        throw Error("the target cannot be opened", name, reason);
      results.push_back(run_target(*target));
    }
    for (const std::string& op : peer_ops)
      if (!peer.empty()) results.push_back(run_peer(peer, backend, op, peer_seconds));
    print(results, json);
    return std::ranges::any_of(results, [](const Result& r) { return r.wrong > 0 && r.suite == "tandem"; }) ? 1 : 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "op_suite: %s\n", error.what());
    return 1;
  }
}
