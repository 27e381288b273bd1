// `tandem run` on devices: plans, shares, waiting, traces, model clocks.
#include <set>

#include "tests/engine/app/commands/preferred_plans.h"
#include "tests/engine/app/commands/trace.h"
#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

// Arguments that generate greedy tokens behind a short prompt, all with f16 activations.
Arguments run_on(const std::string& devices, const std::string& plan, const Arguments& more = {}) {
  return Arguments{"run",    "-m", stories(), "-p", "Once upon a time", "-n", "6", "--device", devices,
                   "--plan", plan, "--act",   "f16"} +
         more;
}

// The NPU, and the host's loops for all other operators: the run needs no driver and compiles nothing.
constexpr const char* kNpuAndHost = "npu:0,host";

class RunDevices : public ::testing::Test {
 protected:
  const Folder folder_;
};

TEST_F(RunDevices, take_the_plan_and_the_devices_that_are_named) {
  NEED_DEVICE("opencl:0");
  const json expected = json_of(run_on("host", "host-only")).at("ids");
  const Ended list = tandem({"run", "--plan", "list", "--all"});
  EXPECT_EQ(list.status, 0);
  const std::map<std::string, std::string> devices_of = {
      {"gpu-only", "opencl:0"}, {"host-only", "host"}, {"sequence", "opencl:0,npu:0,host"}};
  std::set<std::string> plans;
  std::istringstream lines(list.out);
  for (std::string line; std::getline(lines, line);) plans.insert(line.substr(0, line.find(' ')));
  EXPECT_EQ(plans.size(), 35u);
  for (const std::string& plan : plans) {
    // moe_plans_test.cpp and near_memory_test.cpp test these, because they need experts.
    if (plan.find("moe") != std::string::npos || plan.find("ndp") != std::string::npos) continue;
    const auto own = devices_of.find(plan);
    const std::string devices = own == devices_of.end() ? "opencl:0,npu:0" : own->second;
    // With a named share `tensor` does not give way to a faster plan.
    const bool cuts = plan == "tensor" || plan == "rows" || plan == "staggered";
    const json answer = json_of(run_on(devices, plan, cuts ? Arguments{"--split", "0.5"} : Arguments{}));
    EXPECT_EQ(answer.at("ids"), expected) << plan;
    EXPECT_EQ(answer.at("device"), devices) << plan;
    EXPECT_EQ(answer.at("plan_asked"), plan);
    const std::string named = answer.at("plan");
    EXPECT_TRUE(plan == "auto" ? named.starts_with("auto: ") : named == plan) << plan << ": " << named;
    for (const json& ran : answer.at("plan_ran"))
      EXPECT_THAT(named, HasSubstr(ran.at("plan").get<std::string>())) << "the answer names each plan that ran";
  }
}

// The arguments of a run with one pass of 6 * 10^9 operations. The pass takes far longer than a millisecond, and less
// than ten minutes.
Arguments long_pass(const Folder& folder) {
  const std::string shape = folder.write(
      "shape.json", R"({"schema": 1, "architecture": "llama", "layers": 2, "hidden": 512, "feed_forward": 2048,
                        "heads": 8, "vocabulary": 300, "context_length": 512})");
  const std::string model = folder.file("model.gguf"), text = folder.write("text.txt", std::string(380, 'x'));
  EXPECT_EQ(tandem({"make-random", "--shape", shape, "--type", "q8_0", "-o", model, "-q"}).status, 0);
  return {"run", "-m", model, "-f", text, "-n", "1", "--ignore-eos"};
}

TEST_F(RunDevices, end_with_an_error_where_a_wait_passes_the_deadline) {
  const Arguments run = long_pass(folder_) + on_host();
  EXPECT_EQ(json_of(run + Arguments{"--deadline", "600"}).at("ids").size(), 1u);
  const Ended late = tandem(run + Arguments{"--deadline", "0.001"});
  EXPECT_EQ(late.status, 1);
  EXPECT_THAT(late.err, HasSubstr("passed its deadline"));
  EXPECT_THAT(late.err, HasSubstr("1 ms"));
  EXPECT_EQ(tandem(run, {.environment = {{"TANDEM_DEADLINE", "0.001"}}}).status, 1);
}

// A prompt of 380 tokens in passes of 100, so prefill graphs and decode graphs take turns.
TEST_F(RunDevices, load_graphs_into_the_npus_memory_and_write_the_same_text) {
  const ChildSettings own_cache{.environment = {{"XDG_CACHE_HOME", folder_.file("cache")}}};
  const Arguments run = {
      "run",          "-m",     stories(), "-p",       std::string(380, 'x'), "-n",     "4",       "--chunk", "100",
      "--ignore-eos", "--spec", "none",    "--device", kNpuAndHost,           "--plan", "npu-only"};
  const json plain = json_of(run, own_cache);
  EXPECT_TRUE(plain.at("npu_memory").is_null());
  const json answer = json_of(run + Arguments{"--npu-memory", "1"}, own_cache);
  EXPECT_EQ(answer.at("ids"), plain.at("ids"));
  const json& memory = answer.at("npu_memory");
  EXPECT_EQ(memory.at("budget_bytes"), 1 << 20);
  EXPECT_LE(memory.at("peak_bytes").get<int64_t>(), 1 << 20);
  EXPECT_GE(memory.at("loads").get<int64_t>(), 8) << "both graphs of four blocks";
  EXPECT_GT(memory.at("loaded_bytes").get<int64_t>(), memory.at("loads").get<int64_t>());
  EXPECT_GT(memory.at("load_ms").get<double>(), 0);
  EXPECT_GE(memory.at("waited_ms").get<double>(), 0);
  const Ended text = tandem(run + Arguments{"--npu-memory", "1"}, own_cache);
  EXPECT_THAT(text.err, HasSubstr("graphs on the NPU: at most "));
}

TEST_F(RunDevices, say_how_much_memory_of_the_npu_would_do_and_that_there_is_none) {
  const ChildSettings own_cache{.environment = {{"XDG_CACHE_HOME", folder_.file("cache")}}};
  const Arguments run = long_pass(folder_);
  const Ended small = tandem(run + Arguments{"--device", kNpuAndHost, "--npu-memory", "1"}, own_cache);
  EXPECT_EQ(small.status, 1);
  const std::string before = "need at least --npu-memory ";
  ASSERT_THAT(small.err, HasSubstr(before));
  const int enough = std::stoi(small.err.substr(small.err.find(before) + before.size()));
  const auto status = [&](int mebibytes) {
    return tandem(run + Arguments{"--device", kNpuAndHost, "--npu-memory", std::to_string(mebibytes)}, own_cache)
        .status;
  };
  EXPECT_EQ(status(enough), 0);
  EXPECT_EQ(status(enough - 1), 1);
  const Ended none = tandem(run + on_host() + Arguments{"--npu-memory", "100"}, own_cache);
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("there is no NPU with graphs: --npu-memory on host"));
  EXPECT_EQ(tandem(run + Arguments{"--npu-memory", "0"}).status, 2);
}

// The plan `tensor` gives way to a plan that is predicted to be faster. Here the test writes the prediction.
TEST_F(RunDevices, name_the_plan_that_was_taken_where_another_was_asked_for) {
  const ChildSettings own_cache{.environment = {{"XDG_CACHE_HOME", folder_.file("cache")}}};
  json_of(run_on(kNpuAndHost, "tensor"), own_cache);
  const std::string path = folder_.file("cache/tandem/measured.json");
  json kept = json::parse(content_of(path));
  prefer(kept, {{"few", "rows"}, {"single", "layer"}});
  std::ofstream(path) << kept;

  const json answer = json_of(run_on(kNpuAndHost, "tensor"), own_cache);
  EXPECT_EQ(answer.at("plan_asked"), "tensor");
  EXPECT_EQ(answer.at("plan"), "tensor: prefill rows, decode layer");
  EXPECT_EQ(answer.at("plan_ran"), json::array({{{"tokens", 5}, {"plan", "rows"}, {"passes", 1}},
                                                {{"tokens", 1}, {"plan", "layer"}, {"passes", 5}}}));
  const Ended text = tandem(run_on(kNpuAndHost, "tensor"), own_cache);
  EXPECT_THAT(text.err, HasSubstr("plan tensor: prefill rows, decode layer"));
}

// The NPU's share of the flops of the matrices, according to the trace.
TEST_F(RunDevices, share_rows_as_the_split_says) {
  const auto npu_share = [&](const std::string& split) {
    const std::string path = folder_.file("trace.json");
    EXPECT_EQ(tandem(run_on(kNpuAndHost, "rows", {"--split", split, "--trace", path})).status, 0);
    double npu = 0, all = 0;
    for (const auto& [track, spans] : read_trace(path)) {
      for (const TraceSpan& span : spans) {
        const bool matrix =
            span.name.find("attn_qkv") != std::string::npos || span.name.find("ffn_gate_up") != std::string::npos;
        if (!matrix || (track != "npu:0" && track != "host")) continue;
        all += span.flops;
        if (track == "npu:0") npu += span.flops;
      }
    }
    return npu / all;
  };
  EXPECT_EQ(npu_share("0"), 0);
  EXPECT_EQ(npu_share("1"), 1);
  // The NPU takes whole panels of 64 rows: 1 of 2 and 3 of 6. The last of the 6 panels has 24 rows.
  EXPECT_NEAR(npu_share("0.5"), (64 + 152) / (128.0 + 344.0), 0.1);
}

TEST_F(RunDevices, let_operators_fall_back_with_a_note_and_refuse_it_when_strict) {
  const Ended falls_back = tandem(run_on(kNpuAndHost, "npu-only"));
  EXPECT_EQ(falls_back.status, 0);
  EXPECT_THAT(falls_back.err, HasSubstr("note: npu:0 does not run attention"));
  EXPECT_THAT(tandem(run_on(kNpuAndHost, "npu-only", {"-q"})).err, Not(HasSubstr("note: ")));

  const Ended strict = tandem(run_on(kNpuAndHost, "npu-only", {"--strict-device", "--json"}));
  EXPECT_EQ(strict.status, 1);
  EXPECT_THAT(json::parse(strict.out).at("error").at("hint"), HasSubstr("--strict-device"));
  EXPECT_EQ(tandem(run_on("host", "host-only", {"--strict-device"})).status, 0) << "nothing has to fall back";
}

TEST_F(RunDevices, compute_the_same_with_packed_weights_that_were_kept) {
  const Folder own;
  const ChildSettings own_cache{.environment = {{"XDG_CACHE_HOME", own.file("")}}};
  const json packed = json_of(run_on(kNpuAndHost, "layer", {"--pack-cache"}), own_cache);
  EXPECT_FALSE(std::filesystem::is_empty(own.file("tandem/packed")));
  const json mapped = json_of(run_on(kNpuAndHost, "layer", {"--pack-cache"}), own_cache);
  EXPECT_EQ(mapped.at("ids"), packed.at("ids"));
  EXPECT_EQ(mapped.at("memory").at("weight_bytes"), packed.at("memory").at("weight_bytes"));
}

TEST_F(RunDevices, cut_a_prompt_in_pieces_of_the_asked_length) {
  const json whole = json_of(run_on("host", "host-only")),
             pieces = json_of(run_on("host", "host-only", {"--chunk", "2"}));
  EXPECT_EQ(pieces.at("ids"), whole.at("ids"));
  EXPECT_EQ(whole.at("plan_ran").at(0).at("tokens"), 5);
  EXPECT_EQ(pieces.at("plan_ran").at(0), (json{{"tokens", 2}, {"plan", "host-only"}, {"passes", 2}}));
}

TEST_F(RunDevices, keep_keys_and_values_in_the_asked_type) {
  const auto cache_bytes = [](const std::string& type) {
    return json_of(run_on("host", "host-only", {"--cache-type", type, "-c", "64"})).at("memory").at("cache_bytes");
  };
  // The cache has 5 layers, keys and values of 4 heads of 8, and 64 positions.
  EXPECT_EQ(cache_bytes("f32"), 5 * 2 * 4 * 8 * 64 * 4);
  EXPECT_EQ(cache_bytes("f16"), 5 * 2 * 4 * 8 * 64 * 2);
}

TEST_F(RunDevices, say_that_waits_are_blocking_on_one_core) {
  const Ended ended = tandem(run_on(kNpuAndHost, "layer", {"-t", "1"}));
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.err, HasSubstr("there is one core: waits are blocking"));
}

TEST_F(RunDevices, are_named_where_one_cannot_be_used) {
  // "opencl:99" has a number that no device has. "abacus" is no kind of device.
  for (const auto& [device, status] : {std::pair("opencl:99", 1), {"abacus:0", 2}}) {
    const Ended ended = tandem({"run", "-m", stories(), "-p", "x", "--plan", "gpu-only", "--json", "--device", device});
    EXPECT_EQ(ended.status, status);
    EXPECT_THAT(ended.err, StartsWith("tandem: "));
    EXPECT_THAT(json::parse(ended.out).at("error").at("message"), HasSubstr(status == 1 ? device : "abacus"));
  }
}

// The command names no plan. The chosen plan runs on the named device, and on the host beside it.
TEST_F(RunDevices, are_joined_by_the_host_where_an_npu_is_named_alone) {
  const Ended npu = tandem({"run", "-m", stories(), "-p", "Once", "-n", "3", "--device", "npu:0"});
  EXPECT_EQ(npu.status, 0) << npu.err;
  EXPECT_THAT(npu.err, HasSubstr("note: host runs what npu:0 does not"));
  EXPECT_EQ(npu.out, tandem({"run", "-m", stories(), "-p", "Once", "-n", "3", "--device", "npu:0,host"}).out);
  EXPECT_EQ(tandem({"run", "-m", stories(), "-p", "x", "--device", "npu:0", "--strict-device"}).status, 1);
}

// The chip's times are those that `tandem plan` reports for the same prompt.
TEST_F(RunDevices, report_a_chips_clock_beside_their_own) {
  const json answer = json_of(run_on(kNpuAndHost, "layer", {"--soc", "snapdragon-8gen3"}));
  const json& chip = answer.at("model_clock");
  EXPECT_EQ(chip.at("clock"), "modelled");
  EXPECT_EQ(chip.at("soc"), "snapdragon-8gen3");
  EXPECT_EQ(chip.at("plan"), "layer");
  const json plan = json_of({"plan", "-m", stories(), "--prompt", "5", "--plan", "layer", "--soc", "snapdragon-8gen3"});
  EXPECT_NEAR(chip.at("prompt_ms"), plan.at("phases").at(0).at("predicted_ms"), 1e-9);
  EXPECT_GT(chip.at("joules").get<double>(), 0);
  EXPECT_THAT(tandem(run_on(kNpuAndHost, "layer", {"--soc", "snapdragon-8gen3"})).err,
              HasSubstr("on snapdragon-8gen3: prompt "));
  const Ended cannot = tandem(run_on("host", "host-only", {"--soc", "snapdragon-8gen3"}));
  EXPECT_EQ(cannot.status, 1);
  EXPECT_THAT(cannot.out, IsEmpty()) << "found out before anything is generated";
}

// The parameter is a list of devices.
class RunTraces : public ::testing::TestWithParam<const char*> {
 protected:
  const Folder folder_;
};

TEST_P(RunTraces, hold_every_operator_in_spans_that_do_not_overlap_and_fit_the_wall_clock) {
  const std::string devices = GetParam(), path = folder_.file("trace.json");
  const std::string first = devices.substr(0, devices.find(','));
  if (first != "npu:0") NEED_DEVICE(first);
  const json answer = json_of(run_on(devices, "layer", {"--trace", path}));
  const Trace trace = read_trace(path);
  EXPECT_THAT(folder_.names(), ::testing::ElementsAre("trace.json")) << "nothing half-written beside it";
  const double wall_us = 1e3 * (answer.at("timings").at("prompt_ms").get<double>() +
                                answer.at("timings").at("predicted_ms").get<double>());
  const std::vector<TraceSpan>& passes = trace.at("orchestrator");
  EXPECT_EQ(passes.size(), 1u + 5) << "the prompt, and all tokens but the last one";
  EXPECT_EQ(overlap_us(passes), 0);
  EXPECT_LE(sum_us(passes), wall_us);
  std::map<std::string, int> seen;
  std::set<std::string> at_work;
  for (const auto& [track, spans] : trace) {
    if (devices.find(track) == std::string::npos) continue;  // waits, passes, or the NPU's model clock
    at_work.insert(track);
    EXPECT_LE(overlap_us(spans), 1e-3) << track;  // the number of printed digits limits how exact times are
    EXPECT_LE(sum_us(spans), sum_us(passes)) << track;
    for (const TraceSpan& span : spans) {
      EXPECT_GE(span.end_us, span.start_us);
      ++seen[span.name];
    }
  }
  EXPECT_EQ(at_work.size(), 2u);
  const json plan = json_of({"plan", "-m", stories(), "--prompt", "5", "--plan", "layer", "--device", devices});
  for (const json& step : plan.at("phases").at(1).at("steps")) {
    // The trace has a span for each operator, or one for the step if the device times whole steps.
    const std::string begin = step.at("operators").front().at("name"), end = step.at("operators").back().at("name");
    const bool whole = seen.contains(begin + " .. " + end);
    EXPECT_TRUE(!whole || seen[begin + " .. " + end] >= 5) << begin;
    for (const json& op : step.at("operators")) EXPECT_TRUE(whole || seen[op.at("name")] >= 5) << op.at("name");
  }
  for (int layer = 0; layer < 5; ++layer)
    EXPECT_EQ(seen["blk." + std::to_string(layer) + ".attn_qkv"], 6) << "once a pass";
}

INSTANTIATE_TEST_SUITE_P(On, RunTraces, ::testing::Values("npu:0,host", "opencl:0,npu:0", "vulkan:0,npu:0"),
                         [](const auto& info) { return std::string(info.param).substr(0, 3); });

class RunGpu : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { NEED_DEVICE(gpu_); }
  const std::string gpu_ = GetParam(), both_ = gpu_ + ",npu:0";
};

TEST_P(RunGpu, writes_the_same_text_however_steps_are_submitted) {
  const json expected = json_of(run_on(both_, "layer", {"--submit", "ahead"})).at("ids");
  EXPECT_EQ(expected.size(), 6u);
  for (const char* submit : {"follow", "dominant"})
    EXPECT_EQ(json_of(run_on(both_, "layer", {"--submit", submit})).at("ids"), expected) << submit;
}

// The program waits for the driver's work to end before it frees memory, also when the deadline has passed.
TEST_P(RunGpu, ends_with_an_error_where_a_program_takes_longer_than_the_deadline) {
  const Folder folder;
  const Arguments run = long_pass(folder) + Arguments{"--device", gpu_, "--plan", "gpu-only"};
  EXPECT_EQ(json_of(run + Arguments{"--deadline", "600"}).at("ids").size(), 1u);
  for (const char* policy : {"predict", "blocking"}) {
    const Ended late = tandem(run + Arguments{"--deadline", "0.001", "--sync", policy});
    EXPECT_EQ(late.status, 1) << policy;
    EXPECT_THAT(late.err, HasSubstr("flag '" + gpu_ + " done'")) << policy;
    EXPECT_THAT(late.err, HasSubstr("passed its deadline")) << policy;
    EXPECT_THAT(late.err, HasSubstr("--deadline")) << policy;
  }
}

// A policy that passed its self-test runs with the same text. A policy that failed ends the run with the reason.
TEST_P(RunGpu, waits_as_it_is_told_or_says_why_it_cannot) {
  std::map<std::string, std::string> switched_off;
  const json report = json_of({"devices", "--device", both_});
  for (const json& device : report.at("devices")) {
    for (const json& test : device.at("policies")) {
      std::string& reason = switched_off[test.at("policy")];
      if (!test.at("passed").get<bool>()) reason = test.at("reason");
    }
  }
  EXPECT_EQ(switched_off.size(), 6u);
  const json expected = json_of(run_on(both_, "layer")).at("ids");
  for (const auto& [policy, reason] : switched_off) {
    const Arguments arguments = run_on(both_, "layer", {"--sync", policy});
    if (reason.empty()) {
      EXPECT_EQ(json_of(arguments).at("ids"), expected) << policy;
      continue;
    }
    const Ended refused = tandem(arguments);
    EXPECT_EQ(refused.status, 1) << policy;
    EXPECT_THAT(refused.err, HasSubstr(reason));
  }
}

INSTANTIATE_TEST_SUITE_P(On, RunGpu, ::testing::Values("opencl:0", "vulkan:0"),
                         [](const auto& info) { return std::string(info.param).substr(0, 6); });

}  // namespace
}  // namespace tandem::testing
