// Values of whole models on every plan. They are equal bit for bit if the numeric contract holds. On a GPU with its own
// arithmetic they are equal among plans that split the work the same way (docs/numbers.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/engine/device/driver_faults.h"
#include "tests/engine/run/logits.h"
#include "tests/engine/run/whole_model.h"
#include "tests/support/data.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;

struct Gpu {
  std::string id, family;
  int64_t deep;  // tokens of the quantised models: a pass takes long on lavapipe, longest with simt kernels
  bool simd() const { return family == "simd"; }
};
void PrintTo(const Gpu& gpu, std::ostream* out) { *out << gpu.id << " " << gpu.family; }

// The plans that share bits on a GPU with its own arithmetic. Plans that put all matmuls on the NPU share theirs.
// Others only agree with themselves, for any pieces. Plans that weigh costs may cut every batch differently: "".
std::string bits_of(const Strategy& strategy) {
  if (strategy.weighs_attention) return "";
  return strategy.name == std::string_view("gpu-only") ? strategy.name : "NPU";
}

// A model of two layers that the test writes. The file is removed with the object.
class TinyFile {
 public:
  TinyFile() {
    TinyModel tiny;
    tiny.type = StorageType::f16;
    tiny.feed_forward = 128;
    tiny.heads = 2, tiny.kv_heads = 1;
    write_file(path, write_gguf(tiny));
  }
  const ScratchFolder folder;
  const std::string path = folder.file("tiny.gguf");
};

class Values : public ::testing::TestWithParam<Gpu> {
 protected:
  void SetUp() override {
    if (std::ranges::count(available_devices(), GetParam().id) == 0)
      SKIP_OR_FAIL(test::needs_of(GetParam().id), "there is no device " + GetParam().id);
    SKIP_WHERE_MISCOMPILED(GetParam().id, GetParam().family);
  }
  WholeModelOptions options() const {
    WholeModelOptions options;
    options.devices = {GetParam().id, "npu:0", "host"};
    options.family = GetParam().family;
    return options;
  }
  // GPUs that fuse their sums have the host's bits. For the others this sets the allowed distance of their own
  // arithmetic, or of mixed arithmetic, from the host's. The GPU alone shows it.
  void get_ready(WholeModel& model, std::span<const int32_t> ids, std::span<const float> host) {
    contract_ = model.first().fused_fma;
    references_.clear();
    if (contract_) references_["contract"].assign(host.begin(), host.end());
    const auto alone = model.all_logits("gpu-only", ids, static_cast<int64_t>(ids.size()));
    allowed_ = 4 * largest_difference(alone, host.first(alone.size()));
    std::printf("the GPU alone is %g from the host\n", allowed_ / 4);
    EXPECT_EQ(contract_, allowed_ == 0);
    ASSERT_LT(allowed_, 0.1) << "a wrong token or row is off by about one";
  }
  std::string bits(const Strategy& strategy) const { return contract_ ? "contract" : bits_of(strategy); }
  void judge(const Strategy& strategy, std::span<const float> logits, std::span<const float> contract) {
    if (!bits(strategy).empty()) {
      const auto& expected = references_.try_emplace(bits(strategy), logits.begin(), logits.end()).first->second;
      EXPECT_EQ(different_bits(logits, expected), 0u) << "against the plans of the same bits";
    }
    EXPECT_LE(largest_difference(logits, contract), allowed_);
  }
  std::map<std::string, std::vector<float>> references_;
  bool contract_ = false;
  double allowed_ = 0;
};

// Two models with thirteen storage types, in pieces. Every piece has other cuts.
TEST_P(Values, of_every_plan_are_those_of_one_reference_for_quantised_weights_in_pieces) {
  const int64_t deep = GetParam().deep, last_token = deep - 19;
  const auto ids = some_ids(512, deep);
  for (const char* name : {"first", "second"}) {
    WholeModel model(repository_data(std::string("mixed-models/") + name + ".gguf"), options());
    const auto V = model.vocabulary();
    const std::vector<float> contract = model.all_logits("host-only", ids, 256);
    get_ready(model, std::span(ids).first(100), contract);
    if (HasFatalFailure()) return;
    for (const Strategy& strategy : strategies_for_any_model()) {
      if (strategy.name == std::string_view("host-only")) continue;
      SCOPED_TRACE(std::string(name) + " " + strategy.name);
      model.take_seen();
      judge(strategy, model.all_logits(strategy.name, ids, 256, 7), contract);
      const WholeModel::Seen seen = model.take_seen();
      if (strategy.cuts_rows) {
        EXPECT_GT(seen.cut_matmuls, 0);
        EXPECT_THAT(seen.multipliers, ElementsAre("npu:0", GetParam().id));
      }
      if (strategy.name == std::string_view("tensor") || strategy.name == std::string_view("rows")) {
        EXPECT_GT(seen.cut_attentions, 0) << "prompts are cut too, where the costs say so";
      }
      // Runs like a prompt: only the last token has logits. No size of the NPU's graphs fits the pieces.
      const auto last = model.last_logits(strategy.name, std::span(ids).first(static_cast<size_t>(last_token)), 90, 11);
      const auto same = references_.find(bits(strategy));
      const std::span<const float> expected = same == references_.end() ? contract : same->second;
      if (same != references_.end()) {
        EXPECT_EQ(different_bits(last, rows(expected, last_token - 1, 1, V)), 0u);
      } else {
        EXPECT_LE(largest_difference(last, rows(expected, last_token - 1, 1, V)), allowed_);
      }
    }
  }
}

constexpr int64_t kMostTokens = 640;

// Cuts and tiles of tokens lie at multiples of 8, 32 and 64, and of 6 on AVX2. So faults depend on the rests of a
// length by 48 and by 64. Lengths with the same rest by 64 take the plans in turn, and the next rest begins seven plans
// later. In 640 lengths each of ten plans meets each rest.
size_t plan_of_length(int64_t S, size_t plans) { return static_cast<size_t>(S % 64 * 7 + S / 64) % plans; }

std::vector<const Strategy*> plans_in_rotation() {
  std::vector<const Strategy*> plans;
  for (const Strategy& strategy : strategies_for_any_model())
    if (strategy.name != std::string_view("gpu-only") && strategy.name != std::string_view("host-only"))
      plans.push_back(&strategy);
  return plans;
}

TEST(PlansInRotation, each_meet_a_length_of_every_rest_of_48_and_of_64) {
  const size_t plans = plans_in_rotation().size();
  for (const int64_t size : {48, 64}) {
    std::set<std::pair<size_t, int64_t>> met;
    for (int64_t S = 1; S <= kMostTokens; ++S) met.emplace(plan_of_length(S, plans), S % size);
    EXPECT_EQ(met.size(), plans * static_cast<size_t>(size))
        << "of " << size << "; with more plans more lengths are due";
  }
}

// A batch of S tokens and the token behind it have the bits of one run of all tokens, for every length. Each length
// runs on a plan with cuts of its own.
TEST_P(Values, of_every_prompt_length_up_to_640_are_those_of_one_run) {
  const TinyFile file;
  WholeModelOptions options = this->options();
  options.tokens = kMostTokens + 1;
  WholeModel model(file.path, options);
  const auto V = model.vocabulary();
  const auto ids = some_ids(V, kMostTokens + 1);
  const std::vector<float> contract = model.all_logits("host-only", ids, kMostTokens + 1);
  get_ready(model, ids, contract);
  if (HasFatalFailure()) return;
  ASSERT_GT(largest_difference(rows(contract, 33, 1, V), rows(contract, 34, 1, V)), 1);
  const std::vector<const Strategy*> chosen = plans_in_rotation();
  for (const Strategy* strategy : chosen) {
    if (!bits(*strategy).empty() && !references_.contains(bits(*strategy)))
      references_[bits(*strategy)] = model.all_logits(strategy->name, ids, kMostTokens + 1);
  }
  for (int64_t S = 1; S <= kMostTokens; S += GetParam().simd() ? 1 : 23) {
    const Strategy& strategy = *chosen[plan_of_length(S, chosen.size())];
    SCOPED_TRACE(std::to_string(S) + " tokens, " + strategy.name);
    auto logits = model.run(strategy.name, std::span(ids).first(static_cast<size_t>(S)), 0, 1, S);
    const auto next = model.run(strategy.name, std::span(ids).subspan(static_cast<size_t>(S), 1), S, 1, S);
    logits.insert(logits.end(), next.begin(), next.end());
    if (!bits(strategy).empty()) {
      ASSERT_EQ(different_bits(logits, rows(references_[bits(strategy)], S - 1, 2, V)), 0u);
    }
    ASSERT_LE(largest_difference(logits, rows(contract, S - 1, 2, V)), allowed_);
  }
  EXPECT_GT(model.take_seen().cut_matmuls, GetParam().simd() ? 600 : 20);
}

// The way in which devices wait does not depend on the kernels.
class ValuesByPolicy : public Values {};

// Runs a prompt and single tokens behind it. The GPU's steps are queued ahead, or they follow the NPU's.
TEST_P(ValuesByPolicy, of_every_plan_are_the_same_however_devices_wait) {
  const TinyFile file;
  int policies = 0;
  const DeviceInfo info = WholeModel(file.path, options()).first();
  const bool several_workers = info.id.starts_with("opencl") && info.compute_units > 1;
  for (const PolicyTest& test : info.policies) {
    if (!test.passed) continue;  // tests/engine/device/proven_test.cpp says which must pass
    const sync::Policy policy = test.policy;
    if (several_workers && policy == sync::Policy::doorbell) continue;  // runs use it on a single worker only
    WholeModelOptions options = this->options();
    options.sync_policy = policy;
    ++policies;
    for (const Dominant dominant : {Dominant::gpu, Dominant::npu}) {
      options.dominant = dominant;
      WholeModel model(file.path, options);
      const auto ids = some_ids(model.vocabulary(), 78);
      const std::vector<float> contract = model.all_logits("host-only", ids, 78);
      if (references_.empty()) get_ready(model, ids, contract);  // later policies are compared with the first one
      if (HasFatalFailure()) return;
      for (const Strategy& strategy : strategies_for_any_model()) {
        if (strategy.name == std::string_view("host-only")) continue;
        SCOPED_TRACE(name_of(policy) + (dominant == Dominant::gpu ? ", ahead, " : ", follow, ") + strategy.name);
        auto logits = model.all_logits(strategy.name, std::span(ids).first(75), 75);
        for (int64_t at = 75; at < 78; ++at) {
          const auto next = model.run(strategy.name, std::span(ids).subspan(static_cast<size_t>(at), 1), at, 1);
          logits.insert(logits.end(), next.begin(), next.end());
        }
        judge(strategy, logits, contract);
      }
    }
  }
  EXPECT_GE(policies, 5) << "doorbells need a driver that lets kernels stay";
}

const Gpu kGpus[] = {
    {"opencl:0", "simd", 1200}, {"vulkan:0", "simd", 400}, {"opencl:0", "simt", 400}, {"vulkan:0", "simt", 100}};
std::string name_of(const ::testing::TestParamInfo<Gpu>& info) {
  return info.param.id.substr(0, 6) + "_" + info.param.family;
}
INSTANTIATE_TEST_SUITE_P(Gpus, Values, ::testing::ValuesIn(kGpus), name_of);
INSTANTIATE_TEST_SUITE_P(Gpus, ValuesByPolicy, ::testing::Values(kGpus[0], kGpus[1]), name_of);

}  // namespace
}  // namespace tandem::testing
