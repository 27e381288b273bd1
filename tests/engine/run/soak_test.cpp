// All waiting policies and plans run on all devices, in a random order, for TANDEM_SOAK_SECONDS. Every pass has the
// bits of its plan's first pass. Plans with the contract's arithmetic have the host's bits.
//
// The test prints its seed, and TANDEM_SOAK_SEED repeats an order. The test also opens and closes engines.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/registry.h"
#include "engine/run/engine.h"
#include "sync/error.h"
#include "sync/waiter.h"
#include "tests/engine/run/golden.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"

namespace tandem::testing {
namespace {

using Clock = std::chrono::steady_clock;

#if defined(__SANITIZE_THREAD__)
constexpr bool kDrivers = false;  // the compiled kernels of drivers are not instrumented
#else
constexpr bool kDrivers = true;
#endif

// A plan on certain devices.
struct Arrangement {
  std::string plan;
  std::vector<std::string> devices;
  std::vector<double> split = {};

  std::string name() const {
    std::string text = plan + " on";
    for (const std::string& device : devices) text += " " + device;
    return text;
  }
  bool fused() const { return std::ranges::find(devices, "vulkan:0") == devices.end(); }
};

std::vector<Arrangement> arrangements() {
  std::vector<Arrangement> all = {{"host-only", {"host"}},
                                  {"npu-only", {"npu:0", "host"}},
                                  {"layer", {"npu:0", "host"}, {0.5}},
                                  {"tensor", {"npu:0", "host"}, {0.5}}};
  if (!kDrivers) return all;
  const std::vector<std::string> here = available_devices();
  for (const std::string gpu : {"opencl:0", "vulkan:0"}) {
    if (std::ranges::find(here, gpu) == here.end()) {
      std::cout << "without " << gpu << ", which is not here\n";
      continue;
    }
    all.push_back({"gpu-only", {gpu}});
    all.push_back({"npu-only", {gpu, "npu:0"}});
    all.push_back({"layer", {gpu, "npu:0"}, {0.5}});
    all.push_back({"tensor", {gpu, "npu:0"}, {0.5}});
  }
  return all;
}

double number_of(const char* variable, double otherwise) {
  const char* text = std::getenv(variable);
  return text && *text ? std::strtod(text, nullptr) : otherwise;
}

class Soak : public ::testing::Test {
 protected:
  Soak() {
    TinyModel model;
    model.type = StorageType::f16;
    write_file(path_, write_gguf(model));
    for (int i = 0; i < 40; ++i) prompt_.push_back(3 + (i * i + 5 * i) % 300);
  }

  std::unique_ptr<Engine> open(const Arrangement& arrangement, sync::Policy policy) const {
    EngineOptions options;
    options.program_folder = gpu::default_cache_folder();
    options.model_path = path_;
    options.plan = arrangement.plan;
    options.devices = arrangement.devices;
    options.split = arrangement.split;
    options.act = ActType::f16;
    options.sync_policy = policy;
    options.chunk = options.logit_rows = 16;
    options.measurements = "";
    return Engine::open(options);
  }

  // The logits of the first tokens of the prompt, in pieces of random sizes.
  std::vector<float> pass(Engine& engine, std::mt19937& random) const {
    std::vector<float> logits;
    const size_t tokens = 1 + random() % prompt_.size();
    Sequence text = engine.cache().new_sequence();
    for (size_t done = 0; done < tokens;) {
      const size_t piece = std::min<size_t>(random() % 3 == 0 ? 1 + random() % 20 : 1, tokens - done);
      const std::vector<float> part = all_logits(engine, text, std::span(prompt_).subspan(done, piece));
      logits.insert(logits.end(), part.begin(), part.end());
      done += piece;
    }
    return logits;
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_.file("tiny.gguf");
  std::vector<int32_t> prompt_;
};

// Keeps up to four engines with random plans and policies open, and replaces one of them now and then. Each step runs a
// pass on a random engine and compares its bits with those of its arithmetic.
TEST_F(Soak, every_policy_and_plan_in_any_order_gives_the_same_bits_each_time) {
  const double seconds = number_of("TANDEM_SOAK_SECONDS", 5);
  const auto seed = static_cast<uint32_t>(number_of("TANDEM_SOAK_SEED", 1 + getpid()));
  std::cout << "seed " << seed << " (TANDEM_SOAK_SEED), " << seconds << " s (TANDEM_SOAK_SECONDS)\n";
  std::mt19937 random(seed);
  const std::vector<Arrangement> plans = arrangements();
  const std::span<const sync::Policy> policies = sync::kPolicies;
  constexpr size_t kOpen = 4;  // engines at a time, so that their devices exist side by side
  struct Running {
    size_t plan = 0;
    sync::Policy policy = sync::Policy::blocking;
    std::unique_ptr<Engine> engine;
  };
  std::vector<Running> running;
  std::map<std::string, std::vector<float>> expected;  // the logits of the whole prompt, by arithmetic
  std::map<std::string, int> passes;
  int opened = 0;

  {
    const auto host = open(plans[0], sync::Policy::blocking);
    expected["contract"] = all_logits(*host, prompt_);
  }
  const auto begin = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  while (elapsed() < seconds) {
    if (running.size() < kOpen || random() % 8 == 0) {
      const size_t plan = random() % plans.size();
      const sync::Policy policy = policies[random() % policies.size()];
      // A device may have switched a policy off. It says why, and the test goes on.
      Running next{plan, policy, nullptr};
      try {
        next.engine = open(plans[plan], policy);
        ++opened;
      } catch (const Error& error) {
        ASSERT_NE(std::string(error.what()).find(name_of(policy)), std::string::npos)
            << plans[plan].name() << ": " << error.what();
        std::cout << plans[plan].name() << ", " << name_of(policy) << ": refused: " << error.what() << "\n";
        continue;
      }
      if (running.size() == kOpen) running.erase(running.begin() + static_cast<ptrdiff_t>(random() % kOpen));
      running.push_back(std::move(next));
    }
    Running& one = running[random() % running.size()];
    const Arrangement& plan = plans[one.plan];
    // lavapipe's fma is not fused. There a plan is compared with itself.
    const std::string arithmetic = plan.fused() ? "contract" : plan.name();
    if (!expected.contains(arithmetic)) expected[arithmetic] = all_logits(*one.engine, prompt_);
    const std::vector<float> logits = pass(*one.engine, random);
    const std::vector<float>& whole = expected[arithmetic];
    ASSERT_LE(logits.size(), whole.size());
    const std::vector<float> same(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(logits.size()));
    ASSERT_EQ(different_bits(logits, same), 0u)
        << plan.name() << ", --sync " << name_of(one.policy) << ", after " << elapsed() << " s, seed " << seed;
    ++passes[plan.name() + ", " + name_of(one.policy)];
  }
  int all = 0;
  for (const auto& [name, count] : passes) {
    std::cout << name << ": " << count << " passes\n";
    all += count;
  }
  std::cout << all << " passes on " << opened << " engines, " << passes.size() << " of "
            << plans.size() * policies.size() << " combinations\n";
  EXPECT_GT(all, 0);
}

}  // namespace
}  // namespace tandem::testing
