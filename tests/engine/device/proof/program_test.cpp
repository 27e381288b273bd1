// The program itself, beside drivers that would end it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/device/proof/child.h"
#include "tests/engine/device/proof/broken_drivers.h"
#include "tests/engine/device/proof/soft_limit.h"
#include "tests/support/data.h"
#include "tests/support/requirements.h"

namespace tandem::proof {
namespace {

using nlohmann::json;
using ::tandem::testing::BrokenDrivers;
using ::tandem::testing::Variables;
using ::testing::HasSubstr;
using ::testing::Not;

struct Outcome {
  std::string out;
  ChildEnd end;
};

class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    drivers_.set_up(variables_);
    drivers_.add_fake();
    variables_.set("TANDEM_FAKE_DRIVER", "abort");
    for (const char* required : {"REQUIRE_OPENCL", "REQUIRE_VULKAN"}) variables_.set(required, "");  // no device here
    // Counts the children and starts the helper.
    const std::string counter = drivers_.write("prover", "#!/bin/sh\necho child >>" + drivers_.path("children") +
                                                             "\nexec " + testing::prove_program() + " \"$@\"\n");
    std::filesystem::permissions(counter, std::filesystem::perms::owner_all);
    variables_.set("TANDEM_PROVER", counter);
  }

  Outcome program(const std::vector<std::string>& arguments) {
    Outcome outcome;
    outcome.end = run_child({testing::tandem_program_path(), arguments, {}, std::chrono::seconds(200)},
                            [&](const std::string& line) { outcome.out += line + "\n"; });
    return outcome;
  }
  json devices() {
    const Outcome outcome = program({"devices", "--json"});
    EXPECT_TRUE(outcome.end.well) << outcome.end.in_one();
    return json::parse(outcome.out, nullptr, false);
  }
  int children() const {
    std::ifstream in(drivers_.path("children"));
    int count = 0;
    for (std::string line; std::getline(in, line);) ++count;
    return count;
  }
  static json with_id(const json& report, const std::string& id) {
    for (const json& device : report.at("devices"))
      if (device.at("id") == id) return device;
    return {};
  }

  BrokenDrivers drivers_;
  Variables variables_;
};

TEST_F(ProgramTest, lists_a_driver_that_would_end_it_and_goes_on_with_the_others) {
  if (drivers_.any_installed()) drivers_.add_installed();
  const json report = devices();
  ASSERT_TRUE(report.is_object());
  const json broken = with_id(report, "opencl:fake.icd");
  ASSERT_TRUE(broken.is_object()) << report.dump(1);
  EXPECT_THAT(broken.at("error"), HasSubstr("SIGABRT"));
  EXPECT_THAT(broken.at("error"), HasSubstr("fake driver: abort"));
  EXPECT_TRUE(with_id(report, "host").contains("zero_copy"));
  if (drivers_.any_installed()) {
    EXPECT_TRUE(with_id(report, "opencl:0").contains("zero_copy"));
  }
}

// The list of the surviving drivers needs a folder for temporary files. Without one, no driver is loaded.
TEST_F(ProgramTest, goes_on_without_drivers_where_one_would_end_it_and_cannot_be_hidden) {
  devices();  // what is kept says now which driver it is
  variables_.set("TMPDIR", "/proc");
  const json report = devices();
  ASSERT_TRUE(report.is_object());
  EXPECT_THAT(report.dump(), HasSubstr("could not be hidden"));
  EXPECT_TRUE(with_id(report, "host").contains("zero_copy"));
}

TEST_F(ProgramTest, takes_another_folder_for_temporary_files_where_the_named_one_is_none) {
  variables_.set("TMPDIR", drivers_.path("nowhere"));
  const json report = devices();
  ASSERT_TRUE(report.is_object());
  EXPECT_THAT(with_id(report, "opencl:fake.icd").dump(), HasSubstr("SIGABRT"));
  EXPECT_TRUE(with_id(report, "host").contains("zero_copy"));
}

TEST_F(ProgramTest, tries_a_driver_once_and_remembers) {
  const json first = devices();
  const int tried = children();
  EXPECT_GT(tried, 0);
  EXPECT_EQ(devices().at("devices").size(), first.at("devices").size());
  EXPECT_EQ(children(), tried) << "the second start reads what the first has kept";
  std::ofstream(drivers_.path("vendors/second.icd")) << testing::fake_driver() << "\n";
  devices();
  EXPECT_GT(children(), tried) << "there is another driver now";
}

TEST_F(ProgramTest, tries_again_when_what_was_kept_is_damaged) {
  devices();
  const int tried = children();
  int damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(drivers_.path("cache/tandem/drivers"))) {
    if (entry.path().extension() != ".json") continue;
    std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry.path()) / 2);
    ++damaged;
  }
  ASSERT_GT(damaged, 0);
  EXPECT_THAT(with_id(devices(), "opencl:fake.icd").at("error"), HasSubstr("SIGABRT"));
  EXPECT_GT(children(), tried);
}

TEST_F(ProgramTest, says_of_a_device_that_is_named_which_driver_is_left_out) {
  const Outcome outcome = program({"devices", "--device", "opencl:0"});
  EXPECT_THAT(outcome.end.how, HasSubstr("status 1"));
  EXPECT_THAT(outcome.out, HasSubstr("cannot be used"));
  EXPECT_THAT(outcome.out, HasSubstr("opencl:fake.icd is left out"));
  EXPECT_THAT(outcome.out, HasSubstr("SIGABRT"));
}

TEST_F(ProgramTest, refuses_a_device_that_dies_when_it_is_opened_and_chooses_another) {
  if (!drivers_.any_installed()) SKIP_FOR_WANT_OF(opencl, "no OpenCL driver is installed");
  drivers_.add_installed();
  variables_.set("LD_PRELOAD", testing::fake_calls());
  variables_.set("TANDEM_FAKE_CONTEXT", "abort");
  const Outcome named = program({"devices", "--device", "opencl:0"});
  EXPECT_THAT(named.end.how, HasSubstr("status 1"));
  EXPECT_THAT(named.out, HasSubstr("SIGABRT"));
  const json report = devices();
  EXPECT_THAT(with_id(report, "opencl:0").at("error"), HasSubstr("SIGABRT"));
  EXPECT_TRUE(with_id(report, "npu:0").contains("zero_copy"));
}

TEST_F(ProgramTest, gives_its_children_the_list_of_drivers_that_a_loader_has_cut) {
  if (!drivers_.any_installed()) SKIP_FOR_WANT_OF(opencl, "no OpenCL driver is installed");
  drivers_.add_installed();
  variables_.set("TANDEM_FAKE_DRIVER", "cut");
  variables_.set("TANDEM_FAKE_DRIVER_LOG", drivers_.path("log"));
  variables_.set("OCL_ICD_FILENAMES", "libA.so:libB.so");
  devices();
  std::vector<std::string> seen;
  std::ifstream log(drivers_.path("log"));
  for (std::string line; std::getline(log, line);) seen.push_back(line);
  ASSERT_GE(seen.size(), 3u) << "the child that tries drivers, the program, and the child that compiles";
  EXPECT_THAT(seen, ::testing::Each("libA.so:libB.so"));
}

TEST_F(ProgramTest, hands_out_its_results_before_it_keeps_compiled_kernels) {
  if (!drivers_.any_installed()) SKIP_FOR_WANT_OF(opencl, "no OpenCL driver is installed");
  std::filesystem::remove(drivers_.path("vendors/fake.icd"));
  drivers_.add_installed();
  const std::string model = testing::repository_data("tiny-models/stories260K-F16.gguf"), out = drivers_.path("out");
  const std::string line = "exec " + testing::tandem_program_path() + " bench -m " + model +
                           " -p 4 -n 0 -r 1 --device opencl:0 --plan gpu-only >" + out;
  const ChildEnd end = run_child({"/bin/sh", {"-c", line}, {}, std::chrono::seconds(300)}, [](const std::string&) {});
  ASSERT_TRUE(end.well) << end.in_one();
  std::optional<std::filesystem::file_time_type> first_kept;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(drivers_.path("cache/tandem/opencl"))) {
    if (entry.path().extension() != ".program") continue;
    first_kept = std::min(first_kept.value_or(entry.last_write_time()), entry.last_write_time());
  }
  if (!first_kept) GTEST_SKIP() << "skipped: this driver keeps no programs";
  EXPECT_GT(std::filesystem::file_size(out), 0u);
  EXPECT_LE(std::filesystem::last_write_time(out), *first_kept);
}

TEST_F(ProgramTest, says_nothing_of_a_device_where_its_child_finds_another_one) {
  if (!drivers_.any_installed()) SKIP_FOR_WANT_OF(opencl, "no OpenCL driver is installed");
  std::filesystem::remove(drivers_.path("vendors/fake.icd"));
  drivers_.add_installed();
  const std::string other = drivers_.write("other",
                                           "#!/bin/sh\n[ \"$1\" != programs ] || set -- \"$1\" \"$2\" other "
                                           "\"$4\" \"$5\" \"$6\"\nexec " +
                                               testing::prove_program() + " \"$@\"\n");
  std::filesystem::permissions(other, std::filesystem::perms::owner_all);
  variables_.set("TANDEM_PROVER", other);
  const Outcome outcome = program({"run", "-m", testing::repository_data("tiny-models/stories260K-F16.gguf"), "-p",
                                   "Once", "-n", "1", "--device", "opencl:0", "--plan", "gpu-only"});
  EXPECT_EQ(outcome.end.status, 1);
  EXPECT_THAT(outcome.end.last_words, HasSubstr("a child process finds another device under this number"));
  EXPECT_THAT(outcome.end.last_words, HasSubstr("in the place of"));
  for (const auto& entry : std::filesystem::directory_iterator(drivers_.path("cache/tandem/drivers"))) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) EXPECT_FALSE(line.starts_with("d ")) << entry.path() << line;
  }
}

// Processes with other limits use the same verdicts.
TEST_F(ProgramTest, tries_drivers_without_the_callers_soft_limits_in_the_background) {
  const std::string limits = drivers_.path("limits");
  const std::string teller = drivers_.write(
      "teller", "#!/bin/sh\nulimit -S -n >>" + limits + "\nexec " + testing::prove_program() + " \"$@\"\n");
  std::filesystem::permissions(teller, std::filesystem::perms::owner_all);
  variables_.set("TANDEM_PROVER", teller);
  constexpr rlim_t kLow = 200;
  const SoftLimit low(RLIMIT_NOFILE, kLow);
  if (!low.is_set()) GTEST_SKIP() << "skipped: the hard limit is lower";
  program({"warm", "-m", drivers_.path("no model"), "--background"});
  rlim_t seen = 0;
  ASSERT_TRUE(std::ifstream(limits) >> seen) << "no child was asked";
  EXPECT_GT(seen, kLow);
}

TEST_F(ProgramTest, says_that_drivers_are_untried_where_the_helper_is_missing) {
  variables_.set("TANDEM_PROVER", "");
  variables_.set("TANDEM_FAKE_DRIVER", "nothing");
  const json report = devices();
  ASSERT_EQ(report.at("untried").size(), 2u);
  EXPECT_THAT(report.at("untried")[0], HasSubstr("tandem-prove"));
  variables_.set("TANDEM_PROVER", testing::prove_program());
  EXPECT_EQ(devices().at("untried").size(), 0u);
}

}  // namespace
}  // namespace tandem::proof
