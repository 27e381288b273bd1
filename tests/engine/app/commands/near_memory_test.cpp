// Whole commands with near-memory units: the same logits, times that say whose they are, and bad input.
#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

class NearMemoryCommands : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string ids;
    for (int i = 0; i < 64; ++i) ids += std::to_string(1 + i * 37 % 290) + " ";
    ids_ = folder_.write("ids", ids);
  }
  Ended evaluate(const Arguments& flags, const std::string& logits) const {
    return tandem(Arguments{"eval", "-m", model_, "--ids", ids_, "--json", "--logits", logits} + flags);
  }

  const Folder folder_;
  const std::string model_ = toy_mixture(folder_, 3, 256);
  std::string ids_;
};

TEST_F(NearMemoryCommands, give_the_logits_of_one_device_and_say_whose_time_it_is) {
  const std::string expected = folder_.file("expected"), found = folder_.file("found");
  EXPECT_FALSE(
      json::parse(evaluate({"--device", "host", "--plan", "host-only"}, expected).out).contains("near_memory"));
  const Ended shared = evaluate({"--device", "host,ndp:0-2?gib=1", "--plan", "gpu-ndp"}, found);
  ASSERT_EQ(shared.status, 0) << shared.err;
  EXPECT_EQ(content_of(found), content_of(expected));
  EXPECT_THAT(shared.err, HasSubstr("emulated on the host's cores: measured times say nothing about them"));
  const json units = json::parse(shared.out).at("near_memory");
  EXPECT_EQ(units.at("clock"), "modelled");
  const json& prompts = units.at("prompts");
  EXPECT_EQ(prompts.at("choices_on_gpu").get<int>() + prompts.at("choices_on_units").get<int>(), 64 * 2 * 3);
  EXPECT_GT(prompts.at("modelled_experts_ms"), 0);
}

// The same prompt takes the time of its slowest unit, so two units take longer than six.
TEST_F(NearMemoryCommands, model_less_time_for_more_units) {
  const auto modelled = [&](const char* devices) {
    const Ended ended = evaluate({"--device", devices, "--plan", "ndp-tp"}, folder_.file("logits"));
    return json::parse(ended.out).at("near_memory").at("prompts").at("modelled_experts_ms").get<double>();
  };
  const double two = modelled("host,ndp:0-1"), six = modelled("host,ndp:0-5");
  EXPECT_LT(six, two);
  EXPECT_GT(six, two / 3.5) << "activations go to every unit";
}

TEST_F(NearMemoryCommands, print_modelled_times_of_a_text) {
  const Ended ended = tandem({"run", "-m", model_, "-p", "a b c d e f g", "-n", "4", "--device", "host,ndp:0,ndp:1",
                              "--plan", "gpu-ndp", "--ignore-eos"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("near-memory units, text:"));
  EXPECT_THAT(ended.err, HasSubstr("modelled, not measured"));
}

// A prompt's share of Eq. 2 leaves the GPU less than its counts do. Experts that fit are all prefetched.
TEST_F(NearMemoryCommands, choose_among_the_rules_of_the_paper) {
  const auto answer = [&](const Arguments& flags) {
    const Ended ended = tandem(Arguments{"bench", "-m", model_, "-p", "64", "-n", "2", "-r", "1", "--output", "json",
                                         "--device", "host,ndp:0-1", "--plan", "gpu-ndp"} +
                               flags);
    EXPECT_EQ(ended.status, 0) << ended.err;
    return json::parse(ended.out).at(1).at("near_memory");
  };
  const json counts = answer({}), share = answer({"--ndp-prompts", "share", "--ndp-prefetch", "fill"});
  EXPECT_GT(counts.at("prompts").at("choices_on_gpu"), 0);
  EXPECT_NE(share.at("prompts").at("choices_on_gpu"), counts.at("prompts").at("choices_on_gpu"));
  EXPECT_GT(counts.at("text").at("experts_prefetched"), 0);
  EXPECT_GT(share.at("text").at("experts_prefetched"), counts.at("text").at("experts_prefetched"));
}

TEST_F(NearMemoryCommands, name_what_is_wrong) {
  const std::string logits = folder_.file("logits");
  const auto refused = [&](const Arguments& flags, int status, const char* reason) {
    const Ended ended = evaluate(flags, logits);
    EXPECT_EQ(ended.status, status) << reason;
    EXPECT_THAT(ended.err, HasSubstr(reason));
  };
  refused({"--device", "host", "--plan", "gpu-ndp"}, 1, "needs near-memory units");
  refused({"--device", "host,ndp:0?gib=0.0001", "--plan", "gpu-ndp"}, 1, "Not supported");
  refused({"--device", "host,ndp:0?gib=-1", "--plan", "gpu-ndp"}, 1, "no such gib");
  refused({"--device", "host,ndp:0?gib=", "--plan", "gpu-ndp"}, 2, "has no value");
  refused({"--device", "host,ndp:0?speed=1", "--plan", "gpu-ndp"}, 2, "no parameter");
  refused({"--device", "host,ndp:3-1", "--plan", "gpu-ndp"}, 2, "no device id");
  refused({"--device", "host,ndp:0-63", "--plan", "gpu-ndp"}, 1, "no such device");
  refused({"--device", "host,ndp:0-1,ndp:1", "--plan", "gpu-ndp"}, 1, "named twice");
  refused({"--device", "host,ndp:0", "--plan", "gpu-ndp", "--ndp-split", "middle"}, 2, "--ndp-split");
  refused({"--device", "host,ndp:0", "--plan", "gpu-ndp", "--expert-budget", "50%"}, 1, "experts that move");
}

TEST(DevicesCommand, shows_the_properties_of_a_unit) {
  const Ended ended = tandem({"devices"});
  EXPECT_THAT(ended.out, HasSubstr("ndp:0  near-memory unit, 102.4 GB/s, 51.2 GMAC/s, 32 GiB"));
  EXPECT_THAT(ended.out, HasSubstr("near-memory unit, 1 compute unit"));
}

}  // namespace
}  // namespace tandem::testing
