// `tandem calibrate` on a random model that the test writes itself, on the host and the NPU. The tests judge no time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/plan/model_clock/soc_profile.h"
#include "tests/engine/app/program.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using ::tandem::testing::Outcome;
using ::tandem::testing::tandem_program;
using ::testing::HasSubstr;

class CalibrateProgram : public ::testing::Test {
 protected:
  CalibrateProgram() {
    testing::TinyModel model;
    model.type = StorageType::f16;
    testing::write_file(model_, testing::write_gguf(model));
  }
  Outcome calibrate(const std::string& devices) const {
    return tandem_program({"calibrate", "-m", model_, "--device", devices, "-o", profile_});
  }

  const testing::ScratchFolder folder_;
  const std::string model_ = folder_.file("tiny.gguf"), profile_ = folder_.file("machine.json");
};

TEST_F(CalibrateProgram, writes_a_profile_that_the_model_clock_takes) {
  const Outcome outcome = calibrate("npu:0,host");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("| npu.clock_hz |"));
  const SocProfile profile = soc_profile(profile_);
  for (const char* key : {"memory.shared_bytes_per_second", "gpu.flops", "gpu.attention_flops", "gpu.bytes_per_second",
                          "gpu.decode_attention_flops", "gpu.submit_seconds", "npu.clock_hz", "npu.bytes_per_second"}) {
    EXPECT_GT(number_of(profile, key), 0) << key;
  }
  for (const auto& [key, source] : profile.sources) EXPECT_FALSE(source.empty()) << key;
  EXPECT_THAT(profile.sources.at("gpu.flops"), HasSubstr("measured"));
  EXPECT_THAT(profile.sources.at("power.gpu_watts"), HasSubstr("assumption"));

  const Outcome plan = tandem_program(
      {"plan", "-m", model_, "--soc", profile_, "--prompt", "64", "--plan", "tensor", "--json", "--weights", "F16"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("attn_qkv")) << "the engine's joined matmuls";
}

TEST_F(CalibrateProgram, needs_an_npu) {
  const Outcome outcome = calibrate("host");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("NPU"));
  EXPECT_FALSE(std::filesystem::exists(profile_));
}

}  // namespace
}  // namespace tandem
