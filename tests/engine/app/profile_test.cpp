// `tandem profile` on a random model that the test writes itself. The tests judge no time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/app/commands/planning/profile_report.h"
#include "tests/engine/app/program.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using nlohmann::json;
using ::tandem::testing::Outcome;
using ::tandem::testing::tandem_program;
using ::testing::HasSubstr;

class ProfileProgram : public ::testing::Test {
 protected:
  ProfileProgram() {
    testing::TinyModel model;
    model.type = StorageType::f16;
    testing::write_file(path_, testing::write_gguf(model));
    if (const char* cache = std::getenv("XDG_CACHE_HOME")) cache_before_ = cache;
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);  // the test keeps its own measurements
  }
  ~ProfileProgram() override {
    cache_before_.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", cache_before_.c_str(), 1);
  }
  Outcome profile(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"profile", "-m", path_, "--device", "npu:0,host", "--quick"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return tandem_program(arguments);
  }

  const testing::ScratchFolder folder_;
  const std::string path_ = folder_.file("tiny.gguf");
  std::string cache_before_;
};

TEST_F(ProfileProgram, measures_each_operator_once_and_predicts_shapes_it_has_not_learnt) {
  const Outcome first = profile({"--json"});
  ASSERT_EQ(first.status, 0) << first.err;
  const json report = json::parse(first.out);
  EXPECT_EQ(report.at("schema"), 1);
  EXPECT_EQ(report.at("known_points"), 0);
  ASSERT_GT(report.at("rows").size(), 20u);
  EXPECT_EQ(report.at("measured_points"), report.at("rows").size());
  std::set<std::string> operators;
  for (const json& row : report.at("rows")) {
    EXPECT_GT(row.at("median_us").get<double>(), 0) << row;
    EXPECT_EQ(row.at("clock"), "measured");
    operators.insert(row.at("device").get<std::string>() + " " + row.at("op").get<std::string>());
  }
  for (const char* expected : {"npu:0 matmul", "host matmul", "host attention", "host rms_norm", "host swiglu"})
    EXPECT_TRUE(operators.contains(expected)) << expected;
  ASSERT_EQ(report.at("predictions").size(), 2u) << report.at("notes");
  for (const json& prediction : report.at("predictions")) {
    EXPECT_GT(prediction.at("learnt_points"), 0);
    EXPECT_GT(prediction.at("held_out_error").at("points"), 0);
  }

  const json again = json::parse(profile({"--json"}).out);
  EXPECT_EQ(again.at("measured_points"), 0);
  EXPECT_EQ(again.at("known_points"), report.at("measured_points"));
  EXPECT_EQ(again.at("rows"), report.at("rows"));
  EXPECT_EQ(json::parse(profile({"--json", "--again"}).out).at("measured_points"), report.at("measured_points"));
}

TEST_F(ProfileProgram, prints_a_table_and_the_errors_of_prediction) {
  const Outcome outcome = profile();
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("| operator | shape | device | tokens |"));
  EXPECT_THAT(outcome.out, HasSubstr("| attention | after 0 tokens | host | 1 | alone |"));
  EXPECT_THAT(outcome.out, HasSubstr("held-out shapes: median error"));
}

TEST_F(ProfileProgram, takes_an_npu_alone) {
  const Outcome outcome = tandem_program({"profile", "-m", path_, "--device", "npu:0", "--quick", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  for (const json& row : report.at("rows")) EXPECT_EQ(row.at("device"), "npu:0");
}

TEST(ProfileReport, says_why_a_device_has_no_prediction) {
  ProfileRow row;
  row.device = "gpu";
  row.matmul = {"f16", 1, 64, 64, false};
  row.seconds = {1, 1, 1, 1};
  Profile profile;
  profile.rows = {row};
  DeviceInfo device;
  device.id = "gpu";
  device.kind = DeviceKind::gpu;
  const app::ProfileReport report = app::report_on(profile, {&device});
  EXPECT_TRUE(report.predictions.empty());
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_THAT(report.notes[0], HasSubstr("too little was measured"));
}

}  // namespace
}  // namespace tandem
