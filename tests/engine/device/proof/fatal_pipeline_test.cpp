// A Vulkan driver that ends each process which makes one certain pipeline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/proof/child.h"
#include "engine/device/vulkan/pipeline_job.h"
#include "shaders/shaders.h"
#include "tests/engine/device/proof/broken_drivers.h"
#include "tests/support/data.h"
#include "tests/support/requirements.h"

namespace tandem::vulkan {
namespace {

using ::tandem::testing::BrokenDrivers;
using ::tandem::testing::Variables;
using ::testing::HasSubstr;

class FatalPipeline : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<std::string> manifests = proof::manifests(proof::Api::vulkan);
    if (manifests.empty()) SKIP_FOR_WANT_OF(vulkan, "no Vulkan driver is installed");
    drivers_.set_up(variables_);
    std::string all;
    for (const std::string& one : manifests) all += (all.empty() ? "" : ":") + one;
    for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) variables_.set(name, all);
    for (const char* name : {"REQUIRE_OPENCL", "REQUIRE_VULKAN", "TANDEM_DEVICE"}) variables_.set(name, "");
  }

  struct Outcome {
    std::string out;
    proof::ChildEnd end;
  };
  Outcome run(const std::string& more) const {
    const std::string model = testing::repository_data("tiny-models/stories260K-F16.gguf");
    const std::string line = "exec " + testing::tandem_program_path() + " run -m " + model + " -p Once -n 1 " + more;
    Outcome outcome;
    outcome.end = proof::run_child({"/bin/sh", {"-c", line + " 2>&1"}, {}, std::chrono::seconds(300)},
                                   [&](const std::string& text) { outcome.out += text + "\n"; });
    return outcome;
  }

  BrokenDrivers drivers_;
  Variables variables_;
};

TEST_F(FatalPipeline, ends_no_command_and_leaves_the_device_out) {
  const Outcome sound = run("--temp 0 -q --device vulkan:0");
  ASSERT_TRUE(sound.end.well) << sound.out;
  const auto fatal = shader_code("rms_norm_simd", "rms_norm_simd");
  ASSERT_TRUE(fatal);
  variables_.set("LD_PRELOAD", testing::fake_calls());
  variables_.set("TANDEM_FAKE_SHADER", std::to_string(fatal->size_bytes()));
  const Outcome first = run("--device vulkan:0");
  EXPECT_THAT(first.end.how, HasSubstr("status 1"));
  EXPECT_THAT(first.out, HasSubstr("rms_norm_simd"));
  EXPECT_THAT(first.out, HasSubstr("SIGABRT"));
  const Outcome second = run("--device vulkan:0");
  EXPECT_THAT(second.end.how, HasSubstr("status 1"));
  EXPECT_THAT(second.out, HasSubstr("this device cannot be used: vulkan:0"));
  EXPECT_THAT(second.out, HasSubstr("when this file is deleted: " + drivers_.path("cache/tandem/drivers/compiled-")));
  const Outcome others = run("--compile now");
  EXPECT_TRUE(others.end.well) << others.out;
}

TEST(PipelineJob, travels_whole_and_is_refused_where_it_is_none) {
  PipelineJob job;
  job.launch = {"matmul_simd", "matmul_gemv", "-DTYPE=3", {gpu::BufferArg{}, int32_t{5}, 2.5F}, {64, 1, 1}, {8, 1, 1}};
  job.corrects_quotients = true;
  const auto read = read_job(write_job(job));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->launch.source, "matmul_simd");
  EXPECT_EQ(read->launch.kernel, "matmul_gemv");
  EXPECT_EQ(read->launch.options, "-DTYPE=3");
  EXPECT_EQ(read->launch.local, job.launch.local);
  ASSERT_EQ(read->launch.args.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<gpu::BufferArg>(read->launch.args[0]));
  EXPECT_TRUE(std::holds_alternative<uint32_t>(read->launch.args[2]));
  EXPECT_TRUE(read->corrects_quotients);
  EXPECT_EQ(key_of("vulkan:0", *read), key_of("vulkan:0", job));
  for (const char* bytes : {"", "[]", "{}", R"({"source": 3})", R"({"source":"a","kernel":"b","options":"","local":[1],
       "arguments":"","corrects":false})",
                            R"({"source":"a","kernel":"b","options":"","local":[1,1,1],"arguments":"x",
       "corrects":false})"})
    EXPECT_FALSE(read_job(bytes)) << bytes;
}

TEST(PipelineJob, has_a_key_of_all_that_a_driver_compiles) {
  PipelineJob job;
  job.launch = {"a", "b", "-DC=1", {uint32_t{1}}, {}, {}};
  const uint64_t key = key_of("vulkan:0", job);
  EXPECT_NE(key_of("vulkan:1", job), key);
  PipelineJob other = job;
  other.launch.args = {uint32_t{2}};
  EXPECT_EQ(key_of("vulkan:0", other), key) << "values are none of its business";
  other.launch.args.push_back(gpu::BufferArg{});
  EXPECT_NE(key_of("vulkan:0", other), key);
  other = job, other.launch.options = "-DC=2";
  EXPECT_NE(key_of("vulkan:0", other), key);
  other = job, other.corrects_quotients = true;
  EXPECT_NE(key_of("vulkan:0", other), key);
}

}  // namespace
}  // namespace tandem::vulkan
