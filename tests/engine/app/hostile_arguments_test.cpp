// Arguments, and files named by arguments, that would crash a program which trusts them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/engine/app/program.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using ::tandem::testing::Outcome;
using ::tandem::testing::tandem_program;
using ::testing::HasSubstr;

class HostileFile : public ::testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  const testing::ScratchFolder folder_;
  const std::string path_ = folder_.file("hostile.json");
};

TEST(HostileArguments, a_device_id_as_long_as_an_argument_can_be_is_wrong_usage) {
  const Outcome outcome = tandem_program({"devices", "--device", std::string(131000, 'a')});
  EXPECT_EQ(outcome.status, 2) << "letters alone are an id, of no kind of device";
  EXPECT_LT(outcome.err.size(), 1000u);
  const Outcome digits = tandem_program({"devices", "--device", "opencl:" + std::string(131000, '1')});
  EXPECT_EQ(digits.status, 2);
  EXPECT_LT(digits.err.size(), 1000u);
}

TEST(HostileArguments, device_ids_are_letters_and_at_most_four_digits) {
  for (const char* id :
       {"", "1", ":0", "opencl:", "opencl:12345", "opencl:x", "opencl:0x", "opencl:0:0", "Opencl:0", "opencl0"}) {
    EXPECT_EQ(tandem_program({"devices", "--device", id}).status, 2) << id;
  }
  EXPECT_EQ(tandem_program({"devices", "--device", "npu:1234"}).status, 1) << "is an id, of a device that is not there";
}

TEST(HostileArguments, a_value_for_a_flag_that_takes_none_is_wrong_usage) {
  for (const char* flag : {"--verbose=many", "--verbose====t-n", "--quiet=x", "--json=maybe"}) {
    const Outcome outcome = tandem_program({"tokenize", "-m", "x.gguf", "-p", "a", flag});
    EXPECT_EQ(outcome.status, 2) << flag << "\n" << outcome.err;
  }
}

TEST(HostileArguments, an_empty_one_where_none_belongs_is_wrong_usage) {
  for (const char* command : {"run", "eval", "tokenize"}) {
    EXPECT_EQ(tandem_program({command, "-m", "x.gguf", "-p", "a", "", "--json"}).status, 2) << command;
    EXPECT_EQ(tandem_program({command, "-m", "x.gguf", "", "-p", "a"}).status, 2) << command;
    EXPECT_EQ(tandem_program({command, "-m", "x.gguf", "-p", "", "-q"}).status, 1) << "of a model that is not there";
  }
}

TEST_F(HostileFile, of_npu_parameters_that_the_arguments_are_judged_by_is_an_error) {
  write("{");
  const Outcome outcome =
      tandem_program({"npu", "gemm", "-M", "1", "-K", "32", "-N", "1", "--stepped", "--params", path_});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("bad NPU parameter file"));
}

TEST_F(HostileFile, of_a_profile_may_nest_as_deep_as_it_likes) {
  write(
      R"({"schema": 1, "name": "a", "description": "b", "based_on": "snapdragon-8gen3", "gpu": {"flops": {"value": )" +
      std::string(200000, '[') + std::string(200000, ']') + R"(, "source": ""}}})");
  const Outcome outcome = tandem_program({"plan", "--shape", "smollm2-135m", "--prompt", "2", "--soc", path_});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("bad processor profile"));
}

}  // namespace
}  // namespace tandem
